#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/alphabet.h"
#include "plica/tensor.h"

namespace plica {

// An input or output of a graph, as its file declares it.
struct ModelPort {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;  // -1 where a size is free; empty where the file says nothing
};

struct GraphPorts {
  std::vector<ModelPort> inputs;
  std::vector<ModelPort> outputs;
};

// What a model wants in an input of shape (B, L).
enum class InputRole {
  kTokens,
  kOneIsReal,      // mask: 1 at tokens, 0 at padding
  kAdditive,       // mask: 0 at tokens, -infinity at padding
  kTrueIsKeep,     // mask: true at tokens
  kTrueIsPadding,  // mask: true at padding
  kTokenTypes,     // 0 everywhere
  kPositions,      // 0, 1, 2 ...
};

struct FamilyInput {
  std::string name;
  DType dtype = DType::kI64;
  InputRole role = InputRole::kTokens;
};

struct FamilyOptions {
  std::string model_path = {};         // tokenizer files and config.json are looked for beside it
  std::string family = {};             // a name of alphabet_names(); empty: by the files, else by a guess
  std::string alphabet = {};           // a name, or a tokenizer file, that overrides the family's
  std::optional<InputRole> mask = {};  // the meaning of the mask, where its name does not tell
  std::string output = {};             // the name of the output that holds the vectors; empty: chosen by name
  std::optional<int64_t> layer = {};   // the output whose name ends in this number
};

// How sequences get into a model, and where their vectors come out.
struct Family {
  std::string name;
  Alphabet alphabet;
  std::vector<FamilyInput> inputs;   // in the graph's order
  std::string output_name;           // shape (B, L, C), rows as tokens, or (B, C)
  int64_t max_tokens = 0;            // 0: unknown, or without a limit
  int64_t fixed_tokens = 0;          // L, where the graph fixes it
  int64_t fixed_batch = 0;           // B, where the graph fixes it
  std::vector<std::string> guesses;  // what was neither said nor found in files, a sentence each

  bool has_mask() const;
};

// kInvalidInput where the inputs are none that sequences can fill, or the alphabet or the output cannot be told; the message
// says what to give.
Result<Family> choose_family(const GraphPorts& graph, const FamilyOptions& options);

std::optional<InputRole> parse_mask_role(std::string_view name);  // "one", "additive", "keep", "padding"

// The input tensors of shape (num_rows, width) for these sequences, in the order of family.inputs. Rows without a sequence
// repeat the first one; every sequence has at most `width` tokens.
Result<std::vector<Tensor>> make_batch(const Family& family, std::span<const Encoding* const> sequences,
                                       int64_t num_rows, int64_t width);

}  // namespace plica
