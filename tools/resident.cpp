#include "tools/resident.h"

#include "runtime/api/session_state.h"
#include "runtime/core/shape.h"

namespace plica {

Result<Resident> Resident::make(Session& session, const std::vector<Tensor>& inputs) {
  DeviceContext& context = *session.state().model->context;
  const bool on_host = context.traits().device == Device::kCpu;
  Resident resident;
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(session.bind(i, inputs[i].view()));
  for (size_t i = 0; i < session.state().model->outputs.size(); ++i) PLICA_CHECK(session.bind_output(i, {}));
  PLICA_CHECK(session.run());
  if (on_host) {
    for (const Tensor& input : inputs) resident.inputs.push_back(input.view());
    return resident;
  }
  const auto place = [&](const TensorType& type) -> Result<TensorView> {
    PLICA_TRY(std::shared_ptr<void> memory, context.allocate(num_bytes(type)));
    resident.memory.push_back(memory);
    return TensorView{{type.dtype, type.shape, {}}, memory.get()};
  };
  for (const Tensor& input : inputs) {
    PLICA_TRY(const TensorView view, place(input.type()));
    PLICA_CHECK(context.copy(view.data, input.data(), input.num_bytes(), session.state().runner->stream()));
    resident.inputs.push_back(view);
  }
  for (const TensorView& output : session.outputs()) {
    PLICA_TRY(const TensorView view, place(output.type));
    resident.outputs.push_back(view);
  }
  return resident;
}

Status Resident::bind(Session& session) const {
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(session.bind(i, inputs[i]));
  for (size_t i = 0; i < outputs.size(); ++i) PLICA_CHECK(session.bind_output(i, outputs[i]));
  return {};
}

}  // namespace plica
