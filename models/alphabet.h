#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "loaders/tokenizer/vocabulary.h"
#include "plica/error.h"

namespace plica {

// What becomes of a letter that an alphabet does not know.
enum class UnknownPolicy {
  kX,      // the token of X, or the unknown token where there is no X
  kUnk,    // the unknown token
  kError,  // the record is refused
};

std::optional<UnknownPolicy> parse_unknown_policy(std::string_view name);  // "x", "unk", "error"

struct Encoding {
  std::vector<int64_t> ids;   // prefix, residues, suffix
  int64_t first_residue = 0;  // row of the first residue
  int64_t num_residues = 0;
  int64_t num_unknown = 0;  // residues that became X or the unknown token by the policy
};

// Which token stands for which letter, and which tokens stand around a sequence. Exactly one token a residue.
struct Alphabet {
  static constexpr int64_t kNone = -1;

  std::string name;                       // "esm2", or the file it was read from
  std::array<int64_t, 128> letters = {};  // by character, upper case; kNone: unknown
  std::string mask_text;                  // how the mask token is written in a sequence, "<mask>" apart
  int64_t pad = 0;
  int64_t unk = kNone;
  int64_t mask = kNone;
  std::vector<int64_t> prefix;  // before the residues
  std::vector<int64_t> suffix;  // behind them
  int64_t size = 0;             // one more than the largest id

  // Upper-cases, strips one trailing '*', and gives each letter and each "<mask>" its token. kInvalidInput names the letter and
  // its position (from 1) under UnknownPolicy::kError, or where the alphabet has no token for what is unknown.
  Result<Encoding> encode(std::string_view sequence, UnknownPolicy policy) const;
};

// "esm1b", "esm2", "protbert", "prott5", "antiberty". Nothing for another name.
std::optional<Alphabet> find_alphabet(std::string_view name);
const std::vector<std::string>& alphabet_names();

// The alphabet that tokenizer files describe. Where its letters are those of a known one, the known one's conventions hold.
Result<Alphabet> alphabet_of(const Vocabulary& vocabulary);

}  // namespace plica
