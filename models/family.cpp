#include "models/family.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "loaders/tokenizer/model_config.h"
#include "models/output_choice.h"
#include "runtime/core/dtype.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

struct KnownFamily {
  std::string_view name;
  std::array<std::string_view, 2> in_path;  // pieces of a file name that tell it
  int64_t logit_width;                      // of the shortest vocabulary head
  int64_t max_tokens;                       // 0: none
};
constexpr std::array kFamilies = {
    KnownFamily{"esm2", {"esm2", "esm-2"}, 33, 0}, KnownFamily{"esm1b", {"esm1b", "esm1v"}, 0, 1024},
    KnownFamily{"protbert", {"protbert", "prot_bert"}, 30, 40000}, KnownFamily{"prott5", {"prott5", "prot_t5"}, 0, 0},
    KnownFamily{"antiberty", {"antiberty", "antiberty"}, 25, 512}};

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return text;
}

std::string folder_of(const std::string& model_path) {
  const std::string folder = std::filesystem::path(model_path).parent_path().string();
  return folder.empty() ? "." : folder;
}

std::optional<InputRole> role_of(const ModelPort& port) {
  constexpr std::array kTokenNames = {"input_ids", "tokens", "batch_tokens", "token_ids", "ids"};
  const std::string name = lower(port.name);
  const bool countable = is_integer(port.dtype);
  if (name.find("padding_mask") != std::string::npos) return InputRole::kTrueIsPadding;
  if (name == "attention_mask" || name == "mask" || name == "sequence_id")
    return port.dtype == DType::kBool ? InputRole::kTrueIsKeep : InputRole::kOneIsReal;
  if (countable && name == "token_type_ids") return InputRole::kTokenTypes;
  if (countable && name == "position_ids") return InputRole::kPositions;
  if (countable && std::find(kTokenNames.begin(), kTokenNames.end(), name) != kTokenNames.end())
    return InputRole::kTokens;
  return std::nullopt;
}

bool is_mask(InputRole role) {
  return role == InputRole::kOneIsReal || role == InputRole::kAdditive || role == InputRole::kTrueIsKeep ||
         role == InputRole::kTrueIsPadding;
}

std::string describe(const ModelPort& port) {
  std::string text = "'" + port.name + "' (" + std::string(name_of(port.dtype));
  for (size_t axis = 0; axis < port.shape.size(); ++axis)
    text.append(axis == 0 ? " " : "x").append(port.shape[axis] < 0 ? "?" : std::to_string(port.shape[axis]));
  return text + ")";
}

Status fix_size(int64_t size, const ModelPort& port, const char* axis, int64_t& fixed) {
  if (size < 0) return {};
  if (fixed != 0 && fixed != size)
    return Error(Code::kInvalidInput, "input " + describe(port) + " fixes the " + axis + " at " + std::to_string(size) +
                                          ", another input at " + std::to_string(fixed));
  fixed = size;
  return {};
}

Status choose_inputs(const GraphPorts& graph, const FamilyOptions& options, Family& family) {
  int num_tokens = 0;
  for (const ModelPort& port : graph.inputs) {
    std::optional<InputRole> role = role_of(port);
    const bool alone = graph.inputs.size() == 1 && is_integer(port.dtype);
    if (!role && alone) {
      role = InputRole::kTokens;
      family.guesses.push_back("input " + describe(port) + " takes the tokens, as the only one");
    }
    if (!role || (!port.shape.empty() && port.shape.size() != 2))
      return Error(Code::kInvalidInput,
                   "input " + describe(port) +
                       " is none that sequences can fill (wanted: tokens, attention or padding mask, token types or "
                       "positions, of rank 2); use `plica run` for such a model");
    if (is_mask(*role) && options.mask) {
      role = options.mask;
    } else if (is_mask(*role) && is_float(port.dtype)) {
      family.guesses.push_back("mask " + describe(port) +
                               " is 1 at tokens and 0 at padding (--mask additive if it is added to the scores)");
    }
    num_tokens += *role == InputRole::kTokens ? 1 : 0;
    family.inputs.push_back({port.name, port.dtype, *role});
    if (port.shape.empty()) continue;
    PLICA_CHECK(fix_size(port.shape[0], port, "batch", family.fixed_batch));
    PLICA_CHECK(fix_size(port.shape[1], port, "length", family.fixed_tokens));
  }
  if (num_tokens != 1)
    return Error(Code::kInvalidInput,
                 "the model has " + std::to_string(num_tokens) + " inputs for tokens, 1 is wanted");
  return {};
}

// The family's name by what the graph and the file's name suggest; empty where nothing does.
std::string guess_name(const GraphPorts& graph, const FamilyOptions& options, std::vector<std::string>& guesses) {
  const std::string file = lower(std::filesystem::path(options.model_path).filename().string());
  const auto guessed = [&](std::string_view name, const std::string& from) {
    guesses.push_back("the model is of the family " + std::string(name) + ", by " + from + " (--family NAME if not)");
    return std::string(name);
  };
  for (const KnownFamily& known : kFamilies)
    for (const std::string_view piece : known.in_path)
      if (file.find(piece) != std::string::npos) return guessed(known.name, "its file's name");
  for (const ModelPort& output : graph.outputs) {
    if (lower(output.name) != "logits" || output.shape.size() != 3) continue;
    for (const KnownFamily& known : kFamilies)
      if (known.logit_width != 0 && known.logit_width == output.shape[2])
        return guessed(known.name, "the " + std::to_string(known.logit_width) + " columns of its logits");
  }
  for (const ModelPort& input : graph.inputs)
    if (lower(input.name) == "tokens") return guessed("esm2", "its input 'tokens'");
  return {};
}

Result<Alphabet> read_alphabet(const std::string& name_or_file) {
  if (auto known = find_alphabet(name_or_file)) return *std::move(known);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(name_or_file, ignored))
    return Error(Code::kInvalidInput, "'" + name_or_file + "' is neither an alphabet (" + listed(alphabet_names()) +
                                          ") nor a tokenizer file");
  PLICA_TRY(const Vocabulary vocabulary,
            name_or_file.ends_with(".json") ? read_tokenizer_json(name_or_file) : read_vocab_txt(name_or_file));
  return alphabet_of(vocabulary);
}

Status choose_alphabet(const GraphPorts& graph, const FamilyOptions& options, Family& family) {
  if (!options.family.empty() && !find_alphabet(options.family))
    return Error(Code::kInvalidInput,
                 "the family '" + options.family + "' is not known (known: " + listed(alphabet_names()) + ")");
  family.name = options.family;
  if (!options.alphabet.empty()) {
    PLICA_TRY(family.alphabet, read_alphabet(options.alphabet));
    if (family.name.empty()) family.name = family.alphabet.name;
    return {};
  }
  if (family.name.empty()) {
    PLICA_TRY(const auto vocabulary, read_vocabulary(folder_of(options.model_path)));
    if (vocabulary) {
      PLICA_TRY(family.alphabet, alphabet_of(*vocabulary));
      family.name = family.alphabet.name;
      return {};
    }
    family.name = guess_name(graph, options, family.guesses);
  }
  if (family.name.empty())
    return Error(Code::kInvalidInput, "cannot tell which token stands for which residue: give --family (" +
                                          listed(alphabet_names()) +
                                          "), or put the model's vocab.txt or tokenizer.json beside it");
  family.alphabet = *find_alphabet(family.name);
  return {};
}

// Positions of the table less those that the model leaves out before the first token (RoBERTa-like: pad + 1).
Status choose_limit(const FamilyOptions& options, Family& family) {
  PLICA_TRY(const auto config, read_model_config(folder_of(options.model_path)));
  if (config && config->max_positions > 0) {
    const bool esm = config->model_type == "esm";
    if (config->position_type != "rotary" && config->model_type != "t5")
      family.max_tokens = config->max_positions - (esm ? family.alphabet.pad + 1 : 0);
    return {};
  }
  for (const KnownFamily& known : kFamilies)
    if (known.name == family.name) family.max_tokens = known.max_tokens;
  return {};
}

template <class T>
void set(void* data, int64_t at, double value) {
  if constexpr (std::is_same_v<T, F16>) {
    static_cast<T*>(data)[at] = to_f16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<T, BF16>) {
    static_cast<T*>(data)[at] = to_bf16(static_cast<float>(value));
  } else {
    static_cast<T*>(data)[at] = static_cast<T>(value);
  }
}

// The value of an input at token `column` of a sequence; columns from `tokens.size()` on are padding.
double value_at(InputRole role, const std::vector<int64_t>& tokens, int64_t column, int64_t pad) {
  const bool real = column < static_cast<int64_t>(tokens.size());
  switch (role) {
    case InputRole::kTokens: return static_cast<double>(real ? tokens[static_cast<size_t>(column)] : pad);
    case InputRole::kOneIsReal:
    case InputRole::kTrueIsKeep: return real ? 1 : 0;
    case InputRole::kTrueIsPadding: return real ? 0 : 1;
    case InputRole::kAdditive: return real ? 0 : -std::numeric_limits<double>::infinity();
    case InputRole::kTokenTypes: return 0;
    case InputRole::kPositions: return static_cast<double>(column);
  }
  return 0;
}

}  // namespace

bool Family::has_mask() const {
  return std::any_of(inputs.begin(), inputs.end(), [](const FamilyInput& input) { return is_mask(input.role); });
}

std::optional<InputRole> parse_mask_role(std::string_view name) {
  if (name == "one") return InputRole::kOneIsReal;
  if (name == "additive") return InputRole::kAdditive;
  if (name == "keep") return InputRole::kTrueIsKeep;
  if (name == "padding") return InputRole::kTrueIsPadding;
  return std::nullopt;
}

Result<Family> choose_family(const GraphPorts& graph, const FamilyOptions& options) {
  Family family;
  PLICA_CHECK(choose_inputs(graph, options, family));
  PLICA_CHECK(choose_alphabet(graph, options, family));
  PLICA_CHECK(choose_limit(options, family));
  PLICA_TRY(const size_t output, choose_output(graph.outputs, options, family.alphabet.size, family.guesses));
  family.output_name = graph.outputs[output].name;
  return family;
}

Result<std::vector<Tensor>> make_batch(const Family& family, std::span<const Encoding* const> sequences,
                                       int64_t num_rows, int64_t width) {
  std::vector<Tensor> out;
  for (const FamilyInput& input : family.inputs) {
    if (input.role == InputRole::kAdditive && !is_float(input.dtype))
      return Error(Code::kInvalidInput, "input '" + input.name + "' is " + std::string(name_of(input.dtype)) +
                                            "; an additive mask is of a float type");
    PLICA_TRY(Tensor tensor, Tensor::zeros(input.dtype, {num_rows, width}));
    visit_dtype(input.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t row = 0; row < num_rows; ++row) {
        const size_t at = static_cast<size_t>(row) < sequences.size() ? static_cast<size_t>(row) : 0;
        for (int64_t column = 0; column < width; ++column)
          set<T>(tensor.data(), row * width + column,
                 value_at(input.role, sequences[at]->ids, column, family.alphabet.pad));
      }
    });
    out.push_back(std::move(tensor));
  }
  return out;
}

}  // namespace plica
