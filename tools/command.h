#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plica/error.h"
#include "plica/model.h"

namespace CLI {
class App;
}

namespace plica {

// What every command takes.
struct CommonOptions {
  std::string device = "cpu";
  std::string precision = "file";
  int num_threads = 0;
  std::vector<std::string> skip_passes;
  std::vector<std::string> kernels;  // OPERATOR=KERNEL
  std::string log_level = "info";
  bool no_mmap = false;
  int64_t memory_limit_mib = 0;

  LoadOptions load_options() const;  // the library's messages go to the log
};

// "file", "fp32", "tf32", "tf32x3", "bf16", "bf16-mixed", "fp16": what --precision takes.
const std::vector<std::pair<std::string, Precision>>& precisions();

// A command: its part of the arguments, and what it does with them; the result is the exit code.
struct Command {
  CLI::App* app = nullptr;
  std::function<int()> run;
};

constexpr int kDone = 0;
constexpr int kPartly = 1;  // some records failed, or a comparison does not hold
constexpr int kNothingDone = 2;

Command add_embed(CLI::App& program, const CommonOptions& common);
Command add_run(CLI::App& program, const CommonOptions& common);
Command add_info(CLI::App& program, const CommonOptions& common);
Command add_explain(CLI::App& program, const CommonOptions& common);
Command add_verify(CLI::App& program, const CommonOptions& common);
Command add_test_onnx(CLI::App& program, const CommonOptions& common);
Command add_bench(CLI::App& program, const CommonOptions& common);
Command add_profile(CLI::App& program, const CommonOptions& common);

// A sub-command with a line for the list of commands, and details with examples for its own --help.
CLI::App* add_command(CLI::App& program, const char* name, const char* summary, const char* details);

// --outputs: names of outputs, with commas; none means all.
void add_outputs_option(CLI::App& app, std::vector<std::string>& names);

// The model, of the outputs named alone where there are names.
Result<Model> load_model(const std::string& path, const std::vector<std::string>& outputs, const CommonOptions& common);

// kInvalidInput where the file to write is one of those to read, which would be lost.
Status check_output_path(const std::string& output, const std::vector<std::string>& inputs);

// For Option::check: a number that is `least` or more.
std::function<std::string(const std::string&)> at_least(int64_t least);

void set_up_log(std::string_view level);

// Logs the error and gives kNothingDone.
int fail(const Error& error);

// `action` of a command: an Error is logged, an exception too.
int exit_code_of(const std::function<Result<int>()>& action);

}  // namespace plica
