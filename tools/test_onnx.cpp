#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <memory>
#include <span>

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
    "Dtypes and shapes must agree, NaN equals NaN. Each model runs in a process of its own (on a GPU, many share one). "
    "`skipped` are models that "
    "ask\n"
    "for what this build cannot do, and expected failures; `failed` are wrong results and crashes.\n"
    "Exit code: 0 when none failed, 1 otherwise.";

struct TestArguments {
  std::string folder;
  std::string expected_failures;
  std::string filter;
  int timeout_s = 300;
};

constexpr char kEnd = '\x1e';  // of one result

// The outcome as the first character, then why.
std::string encode(const CaseResult& result) {
  std::string text(1, static_cast<char>('0' + static_cast<int>(result.outcome)));
  for (char c : result.why) text.push_back(c == kEnd ? ' ' : c);
  return text + kEnd;
}

std::vector<CaseResult> decode(const std::string& text) {
  std::vector<CaseResult> results;
  for (size_t at = 0, end; (end = text.find(kEnd, at)) != std::string::npos; at = end + 1)
    results.push_back({static_cast<Outcome>(text[at] - '0'), text.substr(at + 1, end - at - 1)});
  return results;
}

std::vector<CaseResult> run_in_child(std::span<const OnnxCase> cases, const CommonOptions& common, int timeout_s) {
  const auto work = [&] {
    LoadOptions options = common.load_options();
    options.log = nullptr;
    std::string text;
    for (const OnnxCase& test : cases) {
      try {
        text += encode(run_onnx_case(test, options));
      } catch (const std::exception& exception) {
        text += encode({Outcome::kFailed, std::string("threw: ") + exception.what()});
      }
    }
    return text;
  };
  const IsolatedResult child = run_isolated(work, timeout_s * static_cast<int>(cases.size()));
  std::vector<CaseResult> results;
  if (child.ended) results = decode(child.text);
  results.resize(cases.size(), {Outcome::kFailed, child.text});
  return results;
}

// A GPU takes longer to start than most models run: there many share a process, and what fails runs once more alone.
std::vector<CaseResult> run_cases(const std::vector<OnnxCase>& cases, const CommonOptions& common, int timeout_s) {
  const size_t num_together = common.device == "cpu" ? 1 : 128;
  std::vector<CaseResult> results;
  for (size_t first = 0; first < cases.size(); first += num_together) {
    const auto some = std::span(cases).subspan(first, std::min(num_together, cases.size() - first));
    for (CaseResult& result : run_in_child(some, common, timeout_s)) results.push_back(std::move(result));
    for (size_t i = first; some.size() > 1 && i < results.size(); ++i)
      if (results[i].outcome == Outcome::kFailed) results[i] = run_in_child({&cases[i], 1}, common, timeout_s)[0];
  }
  return results;
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
  PLICA_TRY(auto cases, find_onnx_cases(arguments.folder));
  std::erase_if(cases, [&](const OnnxCase& test) { return test.name.find(arguments.filter) == std::string::npos; });
  std::map<std::string, std::string> expected;
  if (!arguments.expected_failures.empty()) {
    PLICA_TRY(expected, read_expected_failures(arguments.expected_failures));
  }
  int num_passed = 0;
  int num_failed = 0;
  int num_skipped = 0;
  const std::vector<CaseResult> results = run_cases(cases, common, arguments.timeout_s);
  for (size_t i = 0; i < cases.size(); ++i) {
    const OnnxCase& test = cases[i];
    const CaseResult& result = results[i];
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
      ->check(at_least(1))
      ->capture_default_str();
  return {app, [arguments, &common] { return exit_code_of([&] { return test_onnx(*arguments, common); }); }};
}

}  // namespace plica
