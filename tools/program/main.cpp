#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>

#include "runtime/device/device_name.h"
#include "tools/command.h"

namespace plica {
namespace {

constexpr const char* kAbout =
    "Plica runs exported ONNX protein models: from sequences to vectors, or from arrays to arrays.\n"
    "\n"
    "  plica embed esm2.onnx proteins.fasta -o vectors.npz     a vector for each protein\n"
    "  plica info esm2.onnx                                    what a model takes and gives\n"
    "  plica verify esm2.onnx --shape input_ids=1x128          is the fast path right on this model?\n"
    "\n"
    "`plica COMMAND --help` explains a command, with examples.";

void add_common(CLI::App& program, CommonOptions& common) {
  std::vector<std::string> precision_names;
  for (const auto& [name, value] : precisions()) precision_names.push_back(name);
  program.add_option("--device", common.device, "cpu, or a GPU: cuda:0")->capture_default_str();
  program
      .add_option("--precision", common.precision,
                  "What is stored and what matrix units use; file: the file's own types, fp32 strict")
      ->check(CLI::IsMember(precision_names))
      ->capture_default_str();
  program.add_option("--threads", common.num_threads, "Threads of a run; 0: all processors that this process may use")
      ->check(CLI::Range(0, 4096));
  program
      .add_option("--memory-limit", common.memory_limit_mib, "MiB that a run may use beside the weights; 0: no limit")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  program.add_option("--skip-pass", common.skip_passes,
                     "Leave out this graph pass (repeatable; for finding faults); runs: a launch for each step");
  program
      .add_option(
          "--kernel", common.kernels,
          "Use this kernel of an operator, wherever it stands: Attention=ref (repeatable; `plica explain` names "
          "both)")
      ->type_name("OPERATOR=KERNEL")
      ->allow_extra_args(false);
  program.add_flag("--no-mmap", common.no_mmap,
                   "Read model files into memory, for file systems that may truncate them");
  program.add_option("--log-level", common.log_level, "What is told on stderr")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
}

// Standard streams that whoever started the program has closed: a file opened later would become one of them, be read as standard input
// or get what is printed. In their places are streams that give an error when they are used.
void fill_standard_streams() {
  for (int stream = 0; stream < 3; ++stream)
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", stream == 0 ? O_WRONLY : O_RDONLY) < 0) return;
}

// The exit code, unless what was printed did not arrive.
int with_output(int code) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "plica: error: the output could not be written: %s\n", std::strerror(errno));
  return code == kDone ? kNothingDone : code;
}

int run(int argc, char** argv) {
  CLI::App program(kAbout, "plica");
  CommonOptions common;
  add_common(program, common);
  program.require_subcommand(1);
  program.fallthrough();
  program.set_version_flag("--version", PLICA_VERSION);
  const std::array commands = {add_embed(program, common),  add_run(program, common),
                               add_info(program, common),   add_explain(program, common),
                               add_verify(program, common), add_test_onnx(program, common),
                               add_bench(program, common),  add_profile(program, common)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = program.exit(error, std::cout, std::cerr) == 0 ? kDone : kNothingDone;
    std::cout.flush();
    return with_output(code);
  }
  set_up_log(common.log_level);
  if (const Status status = check_device_name(common.device); !status) return fail(status.error());
  for (const Command& command : commands)
    if (command.app->parsed()) return with_output(command.run());
  return kNothingDone;
}

}  // namespace
}  // namespace plica

int main(int argc, char** argv) {
  plica::fill_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is an error of the writing, which says which file
  return plica::run(argc, argv);
}
