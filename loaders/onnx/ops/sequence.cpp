#include <algorithm>
#include <numeric>

#include "loaders/onnx/ops/tables.h"
#include "runtime/core/shape.h"

// Sequences exist while lowering only: their length is known, their elements are values of the graph.
namespace plica::onnx {
namespace {

Result<Ids> elements_of(Lowering& n, size_t i) {
  if (const Ids* elements = n.sequence(i)) return *elements;
  return invalid_model("operand " + std::to_string(i) + " is a tensor, wanted a sequence");
}

// The position that operand i names in a sequence of `size` elements; `limit` is one more than the last one allowed.
Result<int64_t> position(Lowering& n, size_t i, int64_t size, int64_t limit) {
  PLICA_TRY(const auto found, n.known_ints(i));
  if (found.size() != 1)
    return invalid_model("the position has " + std::to_string(found.size()) + " elements, wanted 1");
  const int64_t at = found[0] < 0 ? found[0] + size : found[0];
  if (at >= 0 && at < limit) return at;
  return Error(Code::kInvalidInput,
               "position " + std::to_string(found[0]) + " in a sequence of " + std::to_string(size) + " elements");
}

Status construct(Lowering& n) {
  for (size_t i = 0; i < n.num_inputs(); ++i)
    if (!n.has(i)) return invalid_model("input " + std::to_string(i) + " is no tensor");
  return n.give_sequence(0, n.all_inputs());
}

Status empty(Lowering& n) { return n.give_sequence(0, {}); }

Status length(Lowering& n) {
  PLICA_TRY(const Ids elements, elements_of(n, 0));
  return n.give(n.scalar(static_cast<double>(elements.size()), DType::kI64));
}

Status at(Lowering& n) {
  PLICA_TRY(const Ids elements, elements_of(n, 0));
  const auto size = static_cast<int64_t>(elements.size());
  PLICA_TRY(const int64_t place, position(n, 1, size, size));
  return n.give(elements[static_cast<size_t>(place)]);
}

Status insert(Lowering& n) {
  PLICA_TRY(Ids elements, elements_of(n, 0));
  const auto size = static_cast<int64_t>(elements.size());
  int64_t place = size;
  if (n.has(2)) {
    PLICA_TRY(place, position(n, 2, size, size + 1));
  }
  if (!n.has(1)) return invalid_model("input 1 is a sequence, wanted a tensor");
  elements.insert(elements.begin() + place, n.in(1));
  return n.give_sequence(0, std::move(elements));
}

Status erase(Lowering& n) {
  PLICA_TRY(Ids elements, elements_of(n, 0));
  const auto size = static_cast<int64_t>(elements.size());
  int64_t place = size - 1;
  if (n.has(1) || size == 0) {
    PLICA_TRY(place, position(n, 1, size, size));
  }
  elements.erase(elements.begin() + place);
  return n.give_sequence(0, std::move(elements));
}

// How long the pieces are: of one size each (the last may be shorter), or as listed.
Result<std::vector<int64_t>> piece_sizes(Lowering& n, int64_t size) {
  if (!n.has(1)) return std::vector<int64_t>(static_cast<size_t>(size), 1);
  PLICA_TRY(std::vector<int64_t> sizes, n.known_ints(1));
  if (n.rank(n.in(1)) != 0) {
    const bool negative = std::any_of(sizes.begin(), sizes.end(), [](int64_t piece) { return piece < 0; });
    if (!negative && std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) == size) return sizes;
    return invalid_model("pieces of " + to_string(sizes) + " do not add up to " + std::to_string(size));
  }
  const int64_t piece = sizes[0];
  if (piece < 1) return invalid_model("pieces of " + std::to_string(piece) + ", wanted 1 or more");
  sizes.clear();
  for (int64_t left = size; left > 0; left -= piece) sizes.push_back(std::min(left, piece));
  return sizes;
}

Status split_to_sequence(Lowering& n) {
  const Id x = n.in(0);
  PLICA_TRY(const int64_t axis, n.axis("axis", 0, n.rank(x)));
  PLICA_TRY(const bool keepdims, n.flag("keepdims", true));
  PLICA_TRY(const auto sizes, piece_sizes(n, n.size(x, axis)));
  Ids pieces;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Result<Id> piece = n.slice(x, axis, start, size);
    start += size;
    if (!n.has(1) && !keepdims && piece) {
      Shape shape = n.shape(*piece);
      shape.erase(shape.begin() + axis);
      piece = n.reshape(piece, std::move(shape));
    }
    PLICA_TRY(pieces.emplace_back(), piece);
  }
  return n.give_sequence(0, std::move(pieces));
}

Status concat_from_sequence(Lowering& n) {
  PLICA_TRY(Ids elements, elements_of(n, 0));
  PLICA_TRY(const bool new_axis, n.flag("new_axis", false));
  if (elements.empty()) return Error(Code::kInvalidInput, "the sequence is empty");
  PLICA_TRY(const int64_t axis, n.axis("axis", 0, n.rank(elements[0]) + (new_axis ? 1 : 0)));
  if (new_axis)
    for (Id& element : elements) {
      Shape shape = n.shape(element);
      shape.insert(shape.begin() + axis, 1);
      PLICA_TRY(element, n.reshape(element, std::move(shape)));
    }
  return n.give(n.concat(std::move(elements), axis));
}

Status same(Lowering& n) { return n.give(0, n.operand(0)); }

Status has_element(Lowering& n) { return n.give(n.scalar(n.num_inputs() > 0 ? 1 : 0, DType::kBool)); }

constexpr OpRow kRows[] = {
    {"ConcatFromSequence", 11, 1, concat_from_sequence},
    {"Optional", 15, 1, same},
    {"OptionalGetElement", 15, 1, same},
    {"OptionalHasElement", 15, 0, has_element},
    {"SequenceAt", 11, 2, at},
    {"SequenceConstruct", 11, 1, construct},
    {"SequenceEmpty", 11, 0, empty},
    {"SequenceErase", 11, 1, erase},
    {"SequenceInsert", 11, 2, insert},
    {"SequenceLength", 11, 1, length},
    {"SplitToSequence", 11, 1, split_to_sequence},
};

}  // namespace

std::span<const OpRow> sequence_rows() { return kRows; }

}  // namespace plica::onnx
