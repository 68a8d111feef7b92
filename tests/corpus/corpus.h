#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "loaders/onnx/module.h"
#include "plica/tensor.h"

namespace plica::test {

// One exported model of the corpus, with its data sets.
struct CorpusCase {
  std::string name;  // "seeds/opm_seed_ts17"
  std::string folder;
  nlohmann::json about;  // its case.json

  std::string model() const { return folder + "/model.onnx"; }
  size_t num_sets() const;
  std::vector<Tensor> inputs(size_t set) const;
  std::vector<Tensor> outputs(size_t set) const;
};

// The groups whose operators are all there.
inline const std::vector<std::string> kCorpusGroups = {
    "seeds", "norm",   "plm",     "plm_traps", "evoformer", "evoformer_traps", "attention", "attention_traps",
    "half",  "shapes", "control", "old_opset", "files"};

// The cases of these groups, sorted; empty where the corpus is absent. PLICA_CORPUS_DIR in the environment is the
// folder of the archive or of the unpacked groups; an archive is unpacked into the build folder once.
std::vector<CorpusCase> corpus_cases(const std::vector<std::string>& groups);

// Why corpus_cases gives nothing.
std::string corpus_is_absent();

// The module specialised to the shapes (and, where shapes hang on them, the values) of these inputs.
Result<Graph> specialised(const onnx::Module& module, const std::vector<Tensor>& inputs);

}  // namespace plica::test
