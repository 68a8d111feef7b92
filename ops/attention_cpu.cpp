#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/attention.h"
#include "ops/attention_cpu_flash.h"
#include "ops/element.h"
#include "ops/op.h"
#include "ops/strided.h"

namespace plica {
namespace {

enum Input : size_t { kQ, kK, kV, kBias, kMask, kGate, kSegments };

struct Range {
  int64_t begin, end;
};

// The keys that row l may see: those of its own segment, up to itself where causal.
Range visible(const ops::Attention& op, const KernelArgs& args, int64_t l, int64_t num_keys) {
  Range keys{0, num_keys};
  if (args.has(kSegments)) {
    const TensorView& offsets = args.in[kSegments];
    const int64_t step = strides_in(offsets.type, 1)[0];
    keys = {0, 0};
    for (int64_t g = 0; g + 1 < offsets.type.shape[0]; ++g) {
      const int64_t begin = read<int64_t>(offsets, g * step), end = read<int64_t>(offsets, (g + 1) * step);
      if (begin < 0 || end < begin || end > num_keys) {
        if (args.fault->what == nullptr) *args.fault = {"segment offset", end, num_keys};
      } else if (begin <= l && l < end) {
        keys = {begin, end};
      }
    }
  }
  if (op.causal) keys.end = std::min(keys.end, l + 1);
  return keys;
}

// Operands as one head's row sees them. Steps are along the keys (M) and along the last axis.
struct Steps {
  int64_t q, k_row, k, v_row, v, bias, mask, gate, y;
};

template <class T>
class Row {
 public:
  Row(const ops::Attention& op, const KernelArgs& args) : op_(op), args_(args) {
    const size_t rank = args.out[0].type.shape.size(), last = rank - 1, row = rank - 2;
    for (size_t i = 0; i < 6; ++i)
      if (args.has(i)) strides[i] = strides_in(args.in[i].type, rank);
    strides[6] = strides_in(args.out[0].type, rank);
    const auto& s = strides;
    steps_ = {s[kQ][last],    s[kK][row],     s[kK][last],    s[kV][row], s[kV][last],
              s[kBias][last], s[kMask][last], s[kGate][last], s[6][last]};
    strides[kK][row] = strides[kV][row] = 0;
  }

  // at: where the row has q, k, v, bias, mask, gate, y.
  void run(const std::array<int64_t, 7>& at, int64_t l) const {
    const int64_t width = args_.in[kV].type.shape.back(), num_keys = args_.in[kV].type.shape.end()[-2];
    const Range keys = visible(op_, args_, l, num_keys);
    auto* scores = static_cast<double*>(args_.scratch);  // (M)
    double max = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t m = keys.begin; m < keys.end; ++m) {
      scores[m] = score(at, m);
      max = std::fmax(max, scores[m]);
    }
    const double origin = std::isinf(max) && max < 0 ? 0 : max;
    for (int64_t m = keys.begin; m < keys.end; ++m) {
      scores[m] = std::exp(scores[m] - origin);
      sum += scores[m];
    }
    const bool zero = has_zero_weights(sum);
    for (int64_t e = 0; e < width; ++e) {
      double value = 0;
      for (int64_t m = keys.begin; m < keys.end; ++m)
        value += (zero ? 0 : scores[m] / sum) * read<T>(args_.in[kV], at[kV] + m * steps_.v_row + e * steps_.v);
      if (args_.has(kGate)) value /= 1 + std::exp(-read<T>(args_.in[kGate], at[kGate] + e * steps_.gate));
      write<T>(args_.out[0], at[6] + e * steps_.y, value);
    }
  }

  std::array<AxisStrides, 7> strides{};  // of q, k, v, bias, mask, gate, y along the rows of y

 private:
  bool has_zero_weights(double sum) const {  // 0 where all scores are -inf, NaN where one is NaN or +inf
    return op_.zero_rows != ops::ZeroRows::kNone &&
           (sum == 0 || (op_.zero_rows == ops::ZeroRows::kUndefined && std::isnan(sum)));
  }

  double score(const std::array<int64_t, 7>& at, int64_t m) const {
    const int64_t width = args_.in[kQ].type.shape.back();
    double dot = 0;
    for (int64_t d = 0; d < width; ++d)
      dot += read<T>(args_.in[kQ], at[kQ] + d * steps_.q) *
             read<T>(args_.in[kK], at[kK] + m * steps_.k_row + d * steps_.k);
    double score = op_.scale * dot;
    if (args_.has(kBias)) score += read<T>(args_.in[kBias], at[kBias] + m * steps_.bias);
    if (!args_.has(kMask)) return score;
    const int64_t mask = at[kMask] + m * steps_.mask;
    if (args_.in[kMask].type.dtype == DType::kBool) return read<bool>(args_.in[kMask], mask) ? score : op_.fill;
    return score + read<T>(args_.in[kMask], mask);
  }

  const ops::Attention& op_;
  const KernelArgs& args_;
  Steps steps_{};
};

void ref(const ops::Attention& op, const KernelArgs& args) {
  visit_float(args.in[kQ].type.dtype, [&](auto tag) {
    const Row<typename decltype(tag)::type> row(op, args);
    const Shape& shape = args.out[0].type.shape;
    const size_t leading = shape.size() - 1;
    for_each_index<7>(std::span(shape).first(leading), row.strides,
                      [&](const auto& at, const AxisSizes& index) { row.run(at, index[leading - 1]); });
  });
}

size_t scratch_bytes(const ops::Attention&, const Case& c) {
  return static_cast<size_t>(c.in[kV].type->shape.end()[-2]) * sizeof(double);
}

constexpr Kernel kKernels[] = {
    {.name = "flash",
     .declines = As<ops::Attention>::fn<attention_flash::declines>,
     .scratch_bytes = As<ops::Attention>::fn<attention_flash::scratch_bytes>,
     .run = As<ops::Attention>::fn<attention_flash::run>},
    {.name = "ref", .scratch_bytes = As<ops::Attention>::fn<scratch_bytes>, .run = As<ops::Attention>::fn<ref>},
};

}  // namespace

constinit const Kernels attention_cpu_kernels = kKernels;

}  // namespace plica
