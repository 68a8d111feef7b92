#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>

#include "runtime/core/result.h"
#include "tools/command.h"
#include "tools/isolate.h"
#include "tools/onnx_case.h"

namespace plica {
namespace {

constexpr const char* kSummary = "Run the ONNX backend tests of a folder, or any models laid out like them.";
constexpr const char* kDetails =
    "  plica test-onnx onnx/backend/test/data/node\n"
    "  plica test-onnx tests --expected-failures known.txt\n"
    "\n"
    "A test is a folder, at any depth, with model.onnx beside test_data_set_0 (input_0.pb ... output_0.pb ...); sets "
    "named\n"
    "error_data_set_N must be refused. rtol and atol come from case.json or data.json in it, else they are 1e-3 and "
    "1e-7.\n"
    "Dtypes and shapes must agree, NaN equals NaN. Each model runs in a process of its own. `skipped` are models that "
    "ask\n"
    "for what this build cannot do, and expected failures; `failed` are wrong results and crashes.\n"
    "Exit code: 0 when none failed, 1 otherwise.";

struct TestArguments {
  std::string folder;
  std::string expected_failures;
  std::string filter;
  int timeout_s = 300;
};

// The outcome as the first character, then why.
std::string encode(const CaseResult& result) {
  return std::string(1, static_cast<char>('0' + static_cast<int>(result.outcome))) + result.why;
}

CaseResult run_in_child(const OnnxCase& test, const CommonOptions& common, int timeout_s) {
  const auto work = [&]() -> std::string {
    try {
      LoadOptions options = common.load_options();
      options.log = nullptr;
      return encode(run_onnx_case(test, options));
    } catch (const std::exception& exception) {
      return encode({Outcome::kFailed, std::string("threw: ") + exception.what()});
    }
  };
  const IsolatedResult child = run_isolated(work, timeout_s);
  if (!child.ended || child.text.empty()) return {Outcome::kFailed, child.text};
  return {static_cast<Outcome>(child.text.front() - '0'), child.text.substr(1)};
}

const std::string* reason_for(const std::map<std::string, std::string>& expected, const std::string& name) {
  auto found = expected.find(name);
  if (found == expected.end()) found = expected.find(name.substr(name.rfind('/') + 1));
  return found == expected.end() ? nullptr : &found->second;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

Result<int> test_onnx(const TestArguments& arguments, const CommonOptions& common) {
  PLICA_TRY(const auto cases, find_onnx_cases(arguments.folder));
  std::map<std::string, std::string> expected;
  if (!arguments.expected_failures.empty()) {
    PLICA_TRY(expected, read_expected_failures(arguments.expected_failures));
  }
  int num_passed = 0;
  int num_failed = 0;
  int num_skipped = 0;
  for (const OnnxCase& test : cases) {
    if (test.name.find(arguments.filter) == std::string::npos) continue;
    const CaseResult result = run_in_child(test, common, arguments.timeout_s);
    const std::string* reason = reason_for(expected, test.name);
    if (result.outcome == Outcome::kPassed) {
      ++num_passed;
      if (reason != nullptr) std::printf("PASSED  %s, though it is listed: %s\n", test.name.c_str(), reason->c_str());
    } else if (result.outcome == Outcome::kSkipped || reason != nullptr) {
      ++num_skipped;
      const std::string why = reason == nullptr ? result.why : *reason + " (" + result.why + ")";
      std::printf("SKIPPED %s: %s\n", test.name.c_str(), one_line(why).c_str());
    } else {
      ++num_failed;
      std::printf("FAILED  %s: %s\n", test.name.c_str(), one_line(result.why).c_str());
    }
    std::fflush(stdout);
  }
  std::printf("%d passed, %d failed, %d skipped\n", num_passed, num_failed, num_skipped);
  return num_failed == 0 ? kDone : kPartly;
}

}  // namespace

Command add_test_onnx(CLI::App& program, const CommonOptions& common) {
  auto arguments = std::make_shared<TestArguments>();
  CLI::App* app = add_command(program, "test-onnx", kSummary, kDetails);
  app->add_option("DIR", arguments->folder, "Where the tests are")->required();
  app->add_option("--expected-failures", arguments->expected_failures,
                  "File of lines \"NAME reason\": tests that are known not to pass");
  app->add_option("--filter", arguments->filter, "Only tests whose name holds this text");
  app->add_option("--timeout", arguments->timeout_s, "Seconds that one model may take")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  return {app, [arguments, &common] { return exit_code_of([&] { return test_onnx(*arguments, common); }); }};
}

}  // namespace plica
