#include "tools/resident.h"

#include "runtime/api/session_state.h"
#include "runtime/core/shape.h"

namespace plica {

Result<Resident> Resident::make(Session& session, const std::vector<Tensor>& inputs) {
  DeviceContext& context = *session.state().model->context;
  const bool on_host = context.traits().device == Device::kCpu;
  Resident resident;
  for (size_t i = 0; i < inputs.size(); ++i) {
    resident.inputs.push_back(inputs[i].view());
    PLICA_CHECK(session.bind(i, resident.inputs[i]));
  }
  if (on_host) {
    for (size_t i = 0; i < session.state().model->outputs.size(); ++i) PLICA_CHECK(session.bind_output(i, {}));
    PLICA_CHECK(session.run());
    return resident;
  }
  PLICA_TRY(const auto planned, session.state().model->plan(resident.inputs));
  const auto place = [&](const TensorType& type) -> Result<TensorView> {
    PLICA_TRY(std::shared_ptr<void> memory, context.allocate(num_bytes(type)));
    resident.memory.push_back(memory);
    return TensorView{{type.dtype, type.shape, {}}, memory.get()};
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    PLICA_TRY(resident.inputs[i], place(inputs[i].type()));
    PLICA_CHECK(context.copy(resident.inputs[i].data, inputs[i].data(), inputs[i].num_bytes(),
                             session.state().runner->stream()));
  }
  for (const TensorType& output : planned->plan->outputs) {
    PLICA_TRY(resident.outputs.emplace_back(), place(output));
  }
  PLICA_CHECK(resident.bind(session));
  PLICA_CHECK(session.run());
  PLICA_CHECK(session.synchronize());
  return resident;
}

Status Resident::bind(Session& session) const {
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(session.bind(i, inputs[i]));
  for (size_t i = 0; i < outputs.size(); ++i) PLICA_CHECK(session.bind_output(i, outputs[i]));
  return {};
}

}  // namespace plica
