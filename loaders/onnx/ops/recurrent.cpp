#include <algorithm>

#include "loaders/onnx/ops/tables.h"
#include "runtime/core/shape.h"

// RNN, GRU and LSTM, unrolled over their steps. Letters: L steps, B batch, I inputs, H hidden, G gates, D directions.
namespace plica::onnx {
namespace {

using ops::Fn;

// One direction of the node, its operands cut out.
struct Cell {
  Id x;          // (L, B, G * H): each step's input, multiplied and with its bias
  Id recurrent;  // (H, G * H)
  Id bias;       // (G * H) of the recurrent part, kNone where it is in x
  Id peephole;   // (3 * H) or kNone
  Id hidden, state;
  std::vector<Fn> activations;
  bool backwards = false;
  bool linear_before_reset = false;
  int64_t width = 0;
};

Result<Fn> activation_of(const std::string& name) {
  std::string lower;
  for (const char c : name) lower.push_back(static_cast<char>(c | 0x20));
  if (lower == "sigmoid") return Fn::kSigmoid;
  if (lower == "tanh") return Fn::kTanh;
  if (lower == "relu") return Fn::kRelu;
  return unsupported("activation '" + name + "', wanted Sigmoid, Tanh or Relu");
}

// The `direction`-th part of an operand, without that axis.
Result<Id> part(Lowering& n, size_t operand, int64_t direction) {
  if (!n.has(operand)) return kNone;
  Shape shape = n.shape(n.in(operand));
  shape.erase(shape.begin());
  return n.reshape(n.slice(n.in(operand), 0, direction, 1), std::move(shape));
}

Result<Id> gate(Lowering& n, Result<Id> gates, int64_t i, int64_t width) {
  if (!gates) return gates;
  return n.slice(gates, n.rank(*gates) - 1, i * width, width);
}

Result<Id> act(Lowering& n, const Cell& cell, size_t i, Result<Id> x) {
  return n.call(cell.activations[i], {std::move(x)});
}

// Each step: x (B, G * H) of the step and the cell's state; changes the state.
using Step = Status (*)(Lowering& n, Cell& cell, Id x);

Status step_rnn(Lowering& n, Cell& cell, Id x) {
  PLICA_TRY(cell.hidden, act(n, cell, 0, n.add(x, n.mat_mul(cell.hidden, cell.recurrent))));
  return {};
}

Status step_gru(Lowering& n, Cell& cell, Id x) {
  const int64_t width = cell.width;
  const auto recurrent = [&](Result<Id> hidden, int64_t first, int64_t count) {
    return n.mat_mul(std::move(hidden), n.slice(cell.recurrent, 1, first * width, count * width));
  };
  Result<Id> both = n.add(n.slice(x, 1, 0, 2 * width), recurrent(cell.hidden, 0, 2));
  if (cell.bias != kNone) both = n.add(both, n.slice(cell.bias, 0, 0, 2 * width));
  PLICA_TRY(const Id gates, act(n, cell, 0, both));
  PLICA_TRY(const Id update, gate(n, gates, 0, width));
  PLICA_TRY(const Id reset, gate(n, gates, 1, width));
  Result<Id> fresh = recurrent(cell.linear_before_reset ? Result<Id>(cell.hidden) : n.mul(reset, cell.hidden), 2, 1);
  if (cell.bias != kNone) fresh = n.add(fresh, n.slice(cell.bias, 0, 2 * width, width));
  if (cell.linear_before_reset) fresh = n.mul(reset, fresh);
  const Result<Id> candidate = act(n, cell, 1, n.add(gate(n, x, 2, width), fresh));
  PLICA_TRY(cell.hidden, n.add(n.mul(n.sub(n.scalar_like(1, update), update), candidate), n.mul(update, cell.hidden)));
  return {};
}

Status step_lstm(Lowering& n, Cell& cell, Id x) {
  const int64_t width = cell.width;
  PLICA_TRY(const Id gates, n.add(x, n.mat_mul(cell.hidden, cell.recurrent)));
  const auto peeping = [&](int64_t i, const Result<Id>& state) {
    const Result<Id> plain = gate(n, gates, i, width);
    return cell.peephole == kNone ? plain : n.add(plain, n.mul(gate(n, cell.peephole, i, width), state));
  };
  const Result<Id> in = act(n, cell, 0, peeping(0, cell.state));
  const Result<Id> forget = act(n, cell, 0, peeping(2, cell.state));
  const Result<Id> candidate = act(n, cell, 1, gate(n, gates, 3, width));
  PLICA_TRY(cell.state, n.add(n.mul(forget, cell.state), n.mul(in, candidate)));
  const Result<Id> out = act(n, cell, 0, peeping(1, cell.state));
  PLICA_TRY(cell.hidden, n.mul(out, act(n, cell, 2, cell.state)));
  return {};
}

struct Kind {
  int64_t num_gates;
  std::vector<std::string> activations;
  Step step;
  bool has_state;    // an LSTM's cell state: operand 6, output 2
  bool splits_bias;  // the recurrent bias goes in behind the product
};

struct Sizes {
  int64_t steps, batch, width;
};

Result<Cell> cell_of(Lowering& n, const Kind& kind, const Sizes& sizes, Id x, int64_t direction, bool backwards) {
  Cell cell{};
  cell.width = sizes.width;
  cell.backwards = backwards;
  const int64_t gates = kind.num_gates * sizes.width;
  PLICA_TRY(cell.linear_before_reset, n.flag("linear_before_reset", false));
  PLICA_TRY(cell.recurrent, n.swap_last(part(n, 2, direction)));
  PLICA_TRY(cell.x, n.mat_mul(x, n.swap_last(part(n, 1, direction))));
  cell.bias = kNone;
  if (n.has(3)) {
    PLICA_TRY(const Id both, part(n, 3, direction));
    PLICA_TRY(cell.x, n.add(cell.x, n.slice(both, 0, 0, gates)));
    PLICA_TRY(cell.bias, n.slice(both, 0, gates, gates));
    if (!kind.splits_bias) {
      PLICA_TRY(cell.x, n.add(cell.x, cell.bias));
      cell.bias = kNone;
    }
  }
  const auto initial = [&](size_t operand) {
    return n.has(operand) ? part(n, operand, direction) : n.full(0, n.dtype(x), {sizes.batch, sizes.width});
  };
  PLICA_TRY(cell.hidden, initial(5));
  PLICA_TRY(cell.state, kind.has_state ? initial(6) : Result<Id>(kNone));
  PLICA_TRY(cell.peephole, kind.has_state ? part(n, 7, direction) : Result<Id>(kNone));
  std::vector<std::string> names = kind.activations;
  if (const Attribute* given = n.node().find("activations")) {
    const auto* all = std::get_if<std::vector<std::string>>(&given->value);
    const size_t first = static_cast<size_t>(direction) * names.size();
    if (all == nullptr || all->size() < first + names.size())
      return invalid_model("attribute 'activations' is too short");
    names.assign(all->begin() + static_cast<int64_t>(first), all->begin() + static_cast<int64_t>(first + names.size()));
  }
  for (const std::string& name : names) {
    PLICA_TRY(const Fn fn, activation_of(name));
    cell.activations.push_back(fn);
  }
  return cell;
}

// Runs the cell over all steps; gives the hidden values of all, (L, 1, B, H), and leaves the last state in the cell.
Result<Id> run(Lowering& n, const Kind& kind, const Sizes& sizes, Cell& cell) {
  Ids rows(static_cast<size_t>(sizes.steps));
  const bool cut = n.has(4);
  for (int64_t i = 0; i < sizes.steps; ++i) {
    const int64_t at = cell.backwards ? sizes.steps - 1 - i : i;
    PLICA_TRY(const Id x, n.reshape(n.slice(cell.x, 0, at, 1), {sizes.batch, kind.num_gates * sizes.width}));
    const Cell before = cell;
    PLICA_CHECK(kind.step(n, cell, x));
    Result<Id> shown = cell.hidden;
    if (cut) {
      // Behind a sequence's end the state stays and the output is zero.
      const Result<Id> lengths = n.reshape(n.cast(n.in(4), DType::kI64), {sizes.batch, 1});
      PLICA_TRY(const Id inside, n.call(Fn::kLess, {n.scalar(static_cast<double>(at), DType::kI64), lengths}));
      shown = n.call(Fn::kWhere, {inside, cell.hidden, n.scalar_like(0, cell.hidden)});
      PLICA_TRY(cell.hidden, n.call(Fn::kWhere, {inside, cell.hidden, before.hidden}));
      if (kind.has_state) {
        PLICA_TRY(cell.state, n.call(Fn::kWhere, {inside, cell.state, before.state}));
      }
    }
    PLICA_TRY(rows[static_cast<size_t>(at)], n.reshape(shown, {1, 1, sizes.batch, sizes.width}));
  }
  if (rows.empty()) return n.full(0, n.dtype(cell.x), {0, 1, sizes.batch, sizes.width});
  return n.concat(std::move(rows), 0);
}

Status check(Lowering& n) {
  PLICA_TRY(const bool couples, n.flag("input_forget", false));
  if (couples) return unsupported("input_forget = 1");
  if (n.node().find("clip") != nullptr) return unsupported("attribute 'clip'");
  if (n.rank(n.in(0)) != 3 || n.rank(n.in(1)) != 3 || n.rank(n.in(2)) != 3)
    return invalid_model("X is " + to_string(n.shape(n.in(0))) + ", W " + to_string(n.shape(n.in(1))) + ", R " +
                         to_string(n.shape(n.in(2))) + ", wanted three axes each");
  return {};
}

Status give_state(Lowering& n, size_t output, Ids states, const Sizes& sizes, bool batch_first) {
  for (Id& state : states) {
    PLICA_TRY(state, n.reshape(state, {1, sizes.batch, sizes.width}));
  }
  const Result<Id> all = n.concat(std::move(states), 0);
  return n.give(output, batch_first ? n.transpose(all, {1, 0, 2}) : all);
}

Status recurrent(Lowering& n, const Kind& kind) {
  PLICA_CHECK(check(n));
  PLICA_TRY(const bool batch_first, n.flag("layout", false));
  if (batch_first && (n.has(5) || n.has(6))) return unsupported("layout = 1 with an initial state");
  PLICA_TRY(const std::string direction, string_attribute(n.node(), "direction", "forward"));
  PLICA_TRY(const Id x, batch_first ? n.transpose(n.in(0), {1, 0, 2}) : Result<Id>(n.in(0)));
  const Sizes sizes{n.size(x, 0), n.size(x, 1), n.size(n.in(2), 2)};
  const int64_t num_directions = direction == "bidirectional" ? 2 : 1;
  Ids rows, hidden, states;
  for (int64_t i = 0; i < num_directions; ++i) {
    PLICA_TRY(Cell cell, cell_of(n, kind, sizes, x, i, direction == "reverse" || i == 1));
    PLICA_TRY(rows.emplace_back(), run(n, kind, sizes, cell));
    hidden.push_back(cell.hidden);
    states.push_back(cell.state);
  }
  const Result<Id> all = n.concat(std::move(rows), 1);
  PLICA_CHECK(n.give(0, batch_first ? n.transpose(all, {2, 0, 1, 3}) : all));
  if (n.wants(1)) PLICA_CHECK(give_state(n, 1, std::move(hidden), sizes, batch_first));
  if (n.wants(2) && kind.has_state) PLICA_CHECK(give_state(n, 2, std::move(states), sizes, batch_first));
  return {};
}

Status rnn(Lowering& n) { return recurrent(n, {1, {"Tanh"}, step_rnn, false, false}); }
Status gru(Lowering& n) { return recurrent(n, {3, {"Sigmoid", "Tanh"}, step_gru, false, true}); }
Status lstm(Lowering& n) { return recurrent(n, {4, {"Sigmoid", "Tanh", "Tanh"}, step_lstm, true, false}); }

constexpr OpRow kRows[] = {
    {"GRU", 7, 3, gru},
    {"LSTM", 7, 3, lstm},
    {"RNN", 7, 3, rnn},
};

}  // namespace

std::span<const OpRow> recurrent_rows() { return kRows; }

}  // namespace plica::onnx
