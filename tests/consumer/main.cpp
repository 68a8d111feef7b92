#include <cstdio>

#include "plica/model.h"
#include "plica/session.h"

namespace {

// Runs y = 2 x + 1 on three numbers.
plica::Status run() {
  auto model = plica::Model::load(MODEL_PATH);
  if (!model) return model.take_error();
  auto session = model->session();
  if (!session) return session.take_error();
  auto x = plica::Tensor::zeros(plica::DType::kF32, {3});
  if (!x) return x.take_error();
  for (int i = 0; i < 3; ++i) x->as<float>()[i] = static_cast<float>(i);
  auto outputs = session->run({{"x", *x}});
  if (!outputs) return outputs.take_error();
  const plica::Tensor& y = outputs->at("y");
  for (int i = 0; i < 3; ++i)
    if (y.as<float>()[i] != static_cast<float>(2 * i + 1)) return plica::Error(plica::Code::kInternal, "y is wrong");
  return {};
}

}  // namespace

int main() {
  const plica::Status status = run();
  const bool refused = !plica::Model::load("no_such_file.onnx");
  if (!status) std::fprintf(stderr, "%s\n", to_string(status.error()).c_str());
  if (!refused) std::fprintf(stderr, "a missing file was not refused\n");
  if (!status || !refused) return 1;
  std::puts("the installed library runs a model");
  return 0;
}
