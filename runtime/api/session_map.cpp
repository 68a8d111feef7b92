#include <cstring>

#include "plica/session.h"
#include "runtime/api/guard.h"
#include "runtime/api/session_state.h"
#include "runtime/core/shape.h"

namespace plica {
namespace {

using Tensors = std::map<std::string, Tensor>;

Status bind_by_name(Session::State& state, const Tensors& inputs) {
  const std::vector<Port>& ports = state.model->source.inputs;
  for (const auto& [name, tensor] : inputs) {
    size_t index = 0;
    while (index < ports.size() && ports[index].name != name) ++index;
    if (index == ports.size())
      return Error(Code::kInvalidInput, "input '" + name + "' is not of this model, wanted " + names_of(ports));
    PLICA_CHECK(state.bind(index, tensor.view()));
  }
  return {};
}

Result<Tensors> copy_outputs(const Session::State& state) {
  Tensors outputs;
  for (size_t i = 0; i < state.outputs.size(); ++i) {
    const TensorView& view = state.outputs[i];
    PLICA_TRY(Tensor copy, Tensor::zeros(view.type.dtype, view.type.shape));
    if (copy.num_bytes() > 0) std::memcpy(copy.data(), view.data, copy.num_bytes());
    outputs.insert_or_assign(state.planned->plan->output_names[i], std::move(copy));
  }
  return outputs;
}

}  // namespace

Result<Tensors> Session::run(const Tensors& inputs) {
  return guarded([&]() -> Result<Tensors> {
    state_->unbind();
    Status status = bind_by_name(*state_, inputs);
    if (status) status = state_->run();
    state_->unbind();  // the tensors are the caller's
    if (!status) return status.take_error();
    return copy_outputs(*state_);
  });
}

}  // namespace plica
