#include "tools/command.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>

#include "runtime/core/result.h"
#include "tools/printable.h"

namespace plica {

const std::vector<std::pair<std::string, Precision>>& precisions() {
  static const std::vector<std::pair<std::string, Precision>> names = {
      {"file", Precision::kFile},     {"fp32", Precision::kF32},  {"tf32", Precision::kTf32},
      {"tf32x3", Precision::kTf32x3}, {"bf16", Precision::kBf16}, {"bf16-mixed", Precision::kBf16Mixed},
      {"fp16", Precision::kF16}};
  return names;
}

LoadOptions CommonOptions::load_options() const {
  LoadOptions options;
  options.device = device;
  for (const auto& [name, value] : precisions())
    if (name == precision) options.precision = value;
  options.num_threads = num_threads;
  options.map_files = !no_mmap;
  options.memory_limit_bytes = static_cast<size_t>(memory_limit_mib) << 20;
  options.skip_passes = skip_passes;
  options.kernels = kernels;
  options.log = [](LogLevel level, std::string_view text) {
    switch (level) {
      case LogLevel::kDebug: spdlog::trace("{}", text); break;
      case LogLevel::kInfo: spdlog::debug("{}", text); break;
      case LogLevel::kWarning: spdlog::warn("{}", text); break;
    }
  };
  return options;
}

CLI::App* add_command(CLI::App& program, const char* name, const char* summary, const char* details) {
  CLI::App* app = program.add_subcommand(name, summary);
  app->footer(std::string("Examples and notes:\n") + details +
              "\n\nAll commands take --device, --precision, --threads, --memory-limit, --skip-pass, --kernel, "
              "--no-mmap and --log-level: see `plica --help`.");
  return app;
}

void add_outputs_option(CLI::App& app, std::vector<std::string>& names) {
  app.add_option("--outputs", names, "Compute these outputs alone: names, with commas [all]")->delimiter(',');
}

Result<Model> load_model(const std::string& path, const std::vector<std::string>& outputs,
                         const CommonOptions& common) {
  PLICA_TRY(Model model, Model::load(path, common.load_options()));
  if (outputs.empty()) return model;
  return model.select(outputs);
}

Status check_output_path(const std::string& output, const std::vector<std::string>& inputs) {
  std::error_code missing;
  for (const std::string& input : inputs)
    if (std::filesystem::equivalent(output, input, missing) && std::filesystem::is_regular_file(output, missing))
      return Error(Code::kInvalidInput,
                   "the output '" + output + "' is the input '" + input + "', wanted another file");
  return {};
}

std::function<std::string(const std::string&)> at_least(int64_t least) {
  return [least](const std::string& text) {
    const double value = std::strtod(text.c_str(), nullptr);
    return value >= static_cast<double>(least) ? std::string()
                                               : "found " + text + ", wanted " + std::to_string(least) + " or more";
  };
}

namespace {

// The message of a line of the log, whose names are those of files.
class PrintableMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = printable({message.payload.data(), message.payload.size()}, Lines::kKeep);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PrintableMessage>(); }
};

}  // namespace

void set_up_log(std::string_view level) {
  auto logger = spdlog::stderr_color_mt("plica");
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableMessage>('*').set_pattern("%^plica: %l:%$ %*");
  logger->set_formatter(std::move(formatter));
  logger->set_level(spdlog::level::from_str(std::string(level)));
  spdlog::set_default_logger(std::move(logger));
}

int fail(const Error& error) {
  spdlog::error("{}", to_string(error));
  return kNothingDone;
}

int exit_code_of(const std::function<Result<int>()>& action) {
  try {
    const Result<int> code = action();
    return code ? *code : fail(code.error());
  } catch (const std::bad_alloc&) {
    return fail(Error(Code::kOutOfMemory, "the memory of this machine does not suffice"));
  } catch (const std::exception& exception) {
    return fail(Error(Code::kInternal, exception.what()));
  }
}

}  // namespace plica
