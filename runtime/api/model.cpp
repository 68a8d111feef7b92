#include "plica/model.h"

#include <algorithm>
#include <map>

#include "plica/session.h"
#include "runtime/api/fit.h"
#include "runtime/api/guard.h"
#include "runtime/api/model_state.h"
#include "runtime/api/session_state.h"
#include "runtime/core/shape.h"
#include "runtime/exec/kernel_choice.h"
#include "runtime/exec/stored_edges.h"

namespace plica {
namespace {

std::vector<TensorInfo> infos_of(const std::vector<Port>& ports) {
  std::vector<TensorInfo> infos;
  for (const Port& port : ports) infos.push_back({port.name, port.dtype, port.has_rank, port.shape, port.symbols});
  return infos;
}

// "size 'L' is 7 in input 'ids' and 8 in input 'mask'": why planning may have failed; empty where sizes of one name agree.
std::string disagreement(const std::vector<Port>& ports, std::span<const TensorView> inputs) {
  std::map<std::string, std::pair<int64_t, const Port*>> sizes;
  for (size_t i = 0; i < ports.size(); ++i)
    for (size_t axis = 0; axis < std::min(ports[i].symbols.size(), inputs[i].type.shape.size()); ++axis) {
      const std::string& symbol = ports[i].symbols[axis];
      const int64_t size = inputs[i].type.shape[axis];
      if (symbol.empty()) continue;
      const auto [known, is_new] = sizes.try_emplace(symbol, size, &ports[i]);
      if (is_new || known->second.first == size) continue;
      return "size '" + symbol + "' is " + std::to_string(known->second.first) + " in input '" +
             known->second.second->name + "' and " + std::to_string(size) + " in input '" + ports[i].name + "'";
    }
  return "";
}

Result<std::vector<size_t>> indices_of(const std::vector<std::string>& names, const std::vector<Port>& ports) {
  std::vector<size_t> indices;
  for (const std::string& name : names) {
    const auto port = std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == name; });
    if (port == ports.end())
      return Error(Code::kInvalidInput, "output '" + name + "' is not of this model, wanted " + names_of(ports));
    const auto index = static_cast<size_t>(port - ports.begin());
    if (std::find(indices.begin(), indices.end(), index) != indices.end())
      return Error(Code::kInvalidInput, "output '" + name + "' is selected twice, wanted each once");
    indices.push_back(index);
  }
  if (indices.empty())
    return Error(Code::kInvalidInput, "no output is selected, wanted at least one of " + names_of(ports));
  return indices;
}

Result<PlanOptions> plan_options(const LoadOptions& options) {
  PLICA_TRY(std::shared_ptr<DeviceContext> context, open_device(options.device, options.num_threads));
  PlanOptions plan;
  plan.device = context->traits();
  if (plan.device.device == Device::kCpu && options.precision != Precision::kFile &&
      options.precision != Precision::kF32)
    return Error(Code::kUnsupported, "the CPU backend computes in the file's own types only");
  plan.precision = options.precision;
  plan.skip_passes = options.skip_passes;
  PLICA_TRY(plan.kernels, forced_kernels(options.kernels, plan.device.device));
  plan.memory_limit_bytes = options.memory_limit_bytes;
  if (plan.device.device != Device::kCpu) plan.context = std::move(context);
  return plan;
}

}  // namespace

std::string names_of(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports) text.append(text.empty() ? "'" : ", '").append(port.name).append("'");
  return text;
}

std::string to_string(const Port& port) {
  std::string text(name_of(port.dtype));
  if (!port.has_rank) return text.append(" of any shape");
  if (port.shape.empty()) return text.append(" scalar");
  for (size_t i = 0; i < port.shape.size(); ++i) {
    text.append(i == 0 ? " " : " x ");
    const bool named = i < port.symbols.size() && !port.symbols[i].empty();
    text.append(port.shape[i] >= 0 ? std::to_string(port.shape[i]) : named ? port.symbols[i] : "any");
  }
  return text;
}

Model::State::State(Source model_source, LoadOptions load_options, PlanOptions plan_options, LoadStats load_stats,
                    std::shared_ptr<ConstantStore> constant_store)
    : source(std::move(model_source)),
      options(std::move(load_options)),
      stats(load_stats),
      context(plan_options.context != nullptr ? plan_options.context : host_context(plan_options.device.num_threads)),
      inputs(infos_of(source.inputs)),
      outputs(infos_of(source.outputs)),
      store(std::move(constant_store)),
      constants(*store),
      plans(source, std::move(plan_options), constants, options.num_plans) {}

Result<Model> Model::State::make(Source source, LoadOptions options, LoadStats stats) {
  PLICA_TRY(PlanOptions plan, plan_options(options));
  if (const auto stored = edge_dtype(options.precision); options.stored_edges && stored)
    source = with_stored_edges(source, *stored);
  return Model(std::make_shared<State>(std::move(source), std::move(options), std::move(plan), stats));
}

Result<std::shared_ptr<const Planned>> Model::State::plan(std::span<const TensorView> given) {
  const size_t before = plans.num_made();
  auto planned = plans.get(given);
  if (!planned && planned.error().code() == Code::kOutOfMemory && options.memory_limit_bytes > 0) {
    const std::string fits = what_fits(*this, given);
    if (!fits.empty()) return Error(Code::kOutOfMemory, planned.error().what() + "; " + fits);
  }
  if (const std::string why = planned ? "" : disagreement(source.inputs, given); !why.empty())
    return Error(planned.error().code(), why + "\n" + planned.error().what());
  if (planned && options.log && plans.num_made() != before) {
    const Plan& plan = *(*planned)->plan;
    std::string text = "planned";
    for (const TensorType& type : plan.inputs) text.append(" ").append(to_string(type.shape));
    text.append(": ").append(std::to_string(plan.steps.size())).append(" steps, an arena of ");
    text.append(std::to_string(plan.arena_bytes))
        .append(" bytes, in ")
        .append(std::to_string(plan.plan_ms))
        .append(" ms");
    options.log(LogLevel::kInfo, text);
  }
  return planned;
}

Status Model::State::check_input(size_t index, const TensorType& type) const {
  const Port& port = source.inputs[index];
  bool fits = type.dtype == port.dtype && (!port.has_rank || type.shape.size() == port.shape.size());
  for (size_t i = 0; fits && port.has_rank && i < port.shape.size(); ++i)
    fits = type.shape[i] >= 0 && (port.shape[i] < 0 || port.shape[i] == type.shape[i]);
  if (fits) return {};
  return Error(Code::kInvalidInput,
               "input '" + port.name + "': found " + to_string(type) + ", wanted " + to_string(port));
}

const std::vector<TensorInfo>& Model::inputs() const { return state_->inputs; }

const std::vector<TensorInfo>& Model::outputs() const { return state_->outputs; }

Result<Model> Model::select(const std::vector<std::string>& output_names) const {
  return guarded([&]() -> Result<Model> {
    PLICA_TRY(std::vector<size_t> indices, indices_of(output_names, state_->source.outputs));
    PLICA_TRY(PlanOptions plan, plan_options(state_->options));
    if (plan.context != nullptr) plan.context = state_->context;
    return Model(std::make_shared<State>(select_outputs(state_->source, std::move(indices)), state_->options,
                                         std::move(plan), state_->stats, state_->store));
  });
}

Result<size_t> Model::forecast(const std::vector<Shape>& input_shapes) const {
  return guarded([&]() -> Result<size_t> {
    if (input_shapes.size() != inputs().size())
      return Error(Code::kInvalidInput,
                   std::to_string(input_shapes.size()) + " input shapes, wanted " + std::to_string(inputs().size()));
    std::vector<TensorView> views;
    for (size_t i = 0; i < input_shapes.size(); ++i) {
      views.push_back({{inputs()[i].dtype, input_shapes[i], {}}, nullptr});
      PLICA_CHECK(state_->check_input(i, views.back().type));
    }
    PLICA_TRY(const auto planned, state_->plan(views));
    return planned->plan->arena_bytes;
  });
}

Result<Session> Model::session() const {
  return guarded([&]() -> Result<Session> {
    PLICA_TRY(std::unique_ptr<PlanRunner> runner, make_runner(state_->context));
    return Session(std::make_unique<Session::State>(state_, std::move(runner)));
  });
}

}  // namespace plica
