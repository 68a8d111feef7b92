#pragma once

#include <map>
#include <string>
#include <vector>

#include "plica/model.h"
#include "tools/allclose.h"

namespace plica {

// A folder of the ONNX backend tests: model.onnx beside test_data_set_N (inputs and what must come out) and error_data_set_N
// (inputs that must be refused).
struct OnnxCase {
  std::string name;  // the folder, relative to where the search began
  std::string folder;
  std::vector<std::string> data_sets;  // folders, sorted
  std::vector<std::string> error_sets;
};

// All cases at any depth below `root`, sorted by name. kInvalidInput where there are none.
Result<std::vector<OnnxCase>> find_onnx_cases(const std::string& root);

// rtol and atol of case.json or data.json in the folder, else 1e-3 and 1e-7.
Result<Tolerance> tolerance_of(const OnnxCase& test);

enum class Outcome : uint8_t { kPassed, kFailed, kSkipped };

struct CaseResult {
  Outcome outcome = Outcome::kPassed;
  std::string why;  // where it has not passed
};

// Loads the model and runs all its sets. Skipped: the model asks for what this build cannot do.
CaseResult run_onnx_case(const OnnxCase& test, const LoadOptions& options);

// Lines "NAME reason..."; empty lines and those with '#' are passed over. NAME is a case's name or the last part of it.
Result<std::map<std::string, std::string>> read_expected_failures(const std::string& path);

}  // namespace plica
