#include "tools/onnx_case.h"

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "loaders/tokenizer/json_file.h"
#include "plica/session.h"
#include "runtime/core/result.h"
#include "tools/input_arrays.h"

namespace plica {
namespace {

namespace fs = std::filesystem;

CaseResult not_passed(const std::string& place, const Error& error) {
  return {error.code() == Code::kUnsupported ? Outcome::kSkipped : Outcome::kFailed, place + to_string(error)};
}

// Binds and runs; the outputs are the session's.
Status run_set(const Model& model, Session& session, const std::vector<Tensor>& inputs) {
  if (inputs.size() != model.inputs().size())
    return Error(Code::kInvalidInput, std::to_string(inputs.size()) + " inputs are given, the model has " +
                                          std::to_string(model.inputs().size()));
  for (size_t i = 0; i < inputs.size(); ++i) PLICA_CHECK(session.bind(i, inputs[i].view()));
  return session.run();
}

CaseResult run_data_set(const Model& model, Session& session, const std::string& folder, const Tolerance& tolerance) {
  const std::string place = fs::path(folder).filename().string() + ": ";
  const auto inputs = read_numbered(folder, "input");
  if (!inputs) return not_passed(place, inputs.error());
  const auto wanted = read_numbered(folder, "output");
  if (!wanted) return not_passed(place, wanted.error());
  const Status status = run_set(model, session, *inputs);
  if (!status) return not_passed(place, status.error());
  const std::vector<TensorView>& found = session.outputs();
  if (found.size() != wanted->size())
    return {Outcome::kFailed, place + std::to_string(found.size()) + " outputs came out, " +
                                  std::to_string(wanted->size()) + " are wanted"};
  for (size_t i = 0; i < found.size(); ++i) {
    const Difference difference = compare(found[i], (*wanted)[i].view(), tolerance);
    if (!difference.within)
      return {Outcome::kFailed, place + "output '" + model.outputs()[i].name + "' " + difference.sentence};
  }
  return {};
}

CaseResult run_error_set(const Model& model, Session& session, const std::string& folder) {
  const std::string place = fs::path(folder).filename().string() + ": ";
  const auto inputs = read_numbered(folder, "input");
  if (!inputs) return not_passed(place, inputs.error());
  const Status status = run_set(model, session, *inputs);
  if (status) return {Outcome::kFailed, place + "ran, but must be refused"};
  if (status.error().what().empty() || status.error().code() == Code::kInternal)
    return {Outcome::kFailed, place + "was refused without a reason: " + to_string(status.error())};
  return {};
}

void add_case(const fs::path& folder, const fs::path& root, std::vector<OnnxCase>& cases) {
  OnnxCase test;
  test.folder = folder.string();
  test.name = folder == root ? folder.filename().string() : folder.lexically_relative(root).string();
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("test_data_set_")) test.data_sets.push_back(entry.path().string());
    if (name.starts_with("error_data_set_")) test.error_sets.push_back(entry.path().string());
  }
  if (test.data_sets.empty() && test.error_sets.empty()) return;
  std::sort(test.data_sets.begin(), test.data_sets.end());
  std::sort(test.error_sets.begin(), test.error_sets.end());
  cases.push_back(std::move(test));
}

}  // namespace

Result<std::vector<OnnxCase>> find_onnx_cases(const std::string& root) {
  std::error_code code;
  if (!fs::is_directory(root, code)) return Error(Code::kInvalidInput, "'" + root + "' is no folder");
  std::vector<OnnxCase> cases;
  if (fs::exists(fs::path(root) / "model.onnx")) add_case(root, root, cases);
  for (const auto& entry : fs::recursive_directory_iterator(root, fs::directory_options::skip_permission_denied, code))
    if (entry.is_directory() && fs::exists(entry.path() / "model.onnx")) add_case(entry.path(), root, cases);
  if (cases.empty())
    return Error(Code::kInvalidInput, "'" + root + "' holds no folder with model.onnx and test_data_set_0");
  std::sort(cases.begin(), cases.end(), [](const OnnxCase& a, const OnnxCase& b) { return a.name < b.name; });
  return cases;
}

Result<Tolerance> tolerance_of(const OnnxCase& test) {
  Tolerance tolerance;
  for (const char* name : {"case.json", "data.json"}) {
    const std::string path = (fs::path(test.folder) / name).string();
    if (!fs::exists(path)) continue;
    PLICA_TRY(const nlohmann::json root, read_json_object(path));
    if (member(root, "rtol").is_number()) tolerance.relative = root["rtol"].get<double>();
    if (member(root, "atol").is_number()) tolerance.absolute = root["atol"].get<double>();
    return tolerance;
  }
  return tolerance;
}

CaseResult run_onnx_case(const OnnxCase& test, const LoadOptions& options) {
  const auto tolerance = tolerance_of(test);
  if (!tolerance) return not_passed("", tolerance.error());
  const auto model = Model::load((fs::path(test.folder) / "model.onnx").string(), options);
  if (!model) return not_passed("", model.error());
  auto session = model->session();
  if (!session) return not_passed("", session.error());
  for (const std::string& folder : test.data_sets) {
    CaseResult result = run_data_set(*model, *session, folder, *tolerance);
    if (result.outcome != Outcome::kPassed) return result;
  }
  for (const std::string& folder : test.error_sets) {
    CaseResult result = run_error_set(*model, *session, folder);
    if (result.outcome != Outcome::kPassed) return result;
  }
  return {};
}

Result<std::map<std::string, std::string>> read_expected_failures(const std::string& path) {
  PLICA_TRY(const std::string text, read_small_file(path));
  std::map<std::string, std::string> expected;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const size_t start = line.find_first_not_of(" \t\r");
    if (start == std::string::npos || line[start] == '#') continue;
    const size_t end = std::min(line.find_first_of(" \t", start), line.size());
    const size_t reason = line.find_first_not_of(" \t\r", end);
    if (reason == std::string::npos)
      return Error(Code::kInvalidInput, "'" + path + "', line " + std::to_string(number) + ": '" + line.substr(start) +
                                            "' has no reason behind the name");
    expected[line.substr(start, end - start)] = line.substr(reason);
  }
  return expected;
}

}  // namespace plica
