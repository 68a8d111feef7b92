#include "tests/corpus/corpus.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "loaders/onnx/lower.h"
#include "loaders/onnx/tensor_proto.h"
#include "runtime/exec/signature.h"

namespace plica::test {
namespace {

namespace fs = std::filesystem;

fs::path corpus_folder() {
  const char* given = std::getenv("PLICA_CORPUS_DIR");
  return given != nullptr && *given != 0 ? given : PLICA_CORPUS_DIR;
}

// Unpacks the archive once; of tests that run side by side the first does, and the others wait for it.
bool unpack(const fs::path& archive, const fs::path& target) {
  fs::create_directories(target);
  const int lock = ::open((target / "lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
  bool done = lock >= 0 && ::flock(lock, LOCK_EX) == 0;
  if (done && !fs::exists(target / "complete")) {
    const std::string command = "tar -xzf '" + archive.string() + "' -C '" + target.string() + "'";
    done = std::system(command.c_str()) == 0;
    if (done) std::ofstream(target / "complete") << "\n";
  }
  if (lock >= 0) ::close(lock);
  return done;
}

// Where the groups lie, unpacked.
fs::path unpacked() {
  const fs::path folder = corpus_folder(), archive = folder / "corpus.tar.gz",
                 target = fs::path(PLICA_BINARY_DIR) / "corpus";
  if (!fs::exists(archive)) return folder;
  static const bool done = unpack(archive, target);
  return done ? target : folder;
}

std::vector<Tensor> read_tensors(const std::string& folder, const std::string& kind) {
  std::vector<Tensor> tensors;
  for (int i = 0;; ++i) {
    const std::string path = folder + "/" + kind + "_" + std::to_string(i) + ".pb";
    if (!fs::exists(path)) return tensors;
    auto read = onnx::read_tensor_file(path);
    if (!read) throw std::runtime_error(to_string(read.error()));
    tensors.push_back(std::move(read->tensor));
  }
}

}  // namespace

size_t CorpusCase::num_sets() const {
  size_t count = 0;
  while (fs::exists(folder + "/test_data_set_" + std::to_string(count))) ++count;
  return count;
}

std::vector<Tensor> CorpusCase::inputs(size_t set) const {
  return read_tensors(folder + "/test_data_set_" + std::to_string(set), "input");
}

std::vector<Tensor> CorpusCase::outputs(size_t set) const {
  return read_tensors(folder + "/test_data_set_" + std::to_string(set), "output");
}

std::string corpus_is_absent() { return "no corpus in " + corpus_folder().string() + " (set PLICA_CORPUS_DIR)"; }

std::vector<CorpusCase> corpus_cases(const std::vector<std::string>& groups) {
  std::vector<CorpusCase> cases;
  for (const std::string& group : groups) {
    const fs::path folder = unpacked() / group;
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      CorpusCase found;
      found.name = group + "/" + entry.path().filename().string();
      found.folder = entry.path().string();
      std::ifstream(entry.path() / "case.json") >> found.about;
      cases.push_back(std::move(found));
    }
  }
  std::sort(cases.begin(), cases.end(), [](const CorpusCase& a, const CorpusCase& b) { return a.name < b.name; });
  return cases;
}

Result<Graph> specialised(const onnx::Module& module, const std::vector<Tensor>& inputs) {
  Signature signature;
  for (const Tensor& input : inputs) signature.inputs.push_back(input.type());
  signature.values.resize(inputs.size());
  while (true) {
    PLICA_TRY(auto lowered, onnx::lower(module, signature));
    if (auto* graph = std::get_if<Graph>(&lowered)) return std::move(*graph);
    bool progress = false;
    for (int i : std::get<NeedsValues>(lowered).inputs) {
      auto& value = signature.values[static_cast<size_t>(i)];
      progress = progress || !value;
      value = inputs[static_cast<size_t>(i)];
    }
    if (!progress) return Error(Code::kInternal, "lowering asks for values that it has");
  }
}

}  // namespace plica::test
