#include "models/alphabet.h"

#include <algorithm>
#include <cctype>

#include "runtime/core/result.h"

namespace plica {
namespace {

// A known alphabet: `letters` have the ids first_letter, first_letter + 1, ...
struct Table {
  std::string_view name;
  std::string_view letters;
  int64_t first_letter;
  std::string_view read_as_x;  // letters that the model's authors replace by X
  std::string_view mask_text;
  int64_t pad, unk, mask, cls, eos;  // Alphabet::kNone where there is none
  int64_t size;
};

constexpr int64_t kNone = Alphabet::kNone;
constexpr std::string_view kEsmLetters = "LAGVSERTIDPKQNFYMHWCXBUZO.-";

// Sources: fair-esm (ESM-1b, ESM-2), the tokenizers of Rostlab/prot_bert and Rostlab/prot_t5_xl_uniref50, antiberty 0.1.3.
constexpr std::array kTables = {Table{"esm2", kEsmLetters, 4, "", "<mask>", 1, 3, 32, 0, 2, 33},
                                Table{"esm1b", kEsmLetters, 4, "", "<mask>", 1, 3, 32, 0, 2, 33},
                                Table{"protbert", "LAGVESIKRDTPNQFYMHCWX", 5, "UZOB", "[MASK]", 0, 1, 4, 2, 3, 30},
                                Table{"prott5", "ALGVSREDTIPKFQNYMHWCX", 3, "UZOB", "", 0, 2, kNone, kNone, 1, 128},
                                Table{"antiberty", "ACDEFGHIKLMNPQRSTVWY", 5, "", "[MASK]", 0, 1, 4, 2, 3, 25}};

Alphabet build(const Table& table) {
  Alphabet out;
  out.name = table.name;
  out.letters.fill(kNone);
  for (size_t i = 0; i < table.letters.size(); ++i)
    out.letters[static_cast<unsigned char>(table.letters[i])] = table.first_letter + static_cast<int64_t>(i);
  for (const char letter : table.read_as_x) out.letters[static_cast<unsigned char>(letter)] = out.letters['X'];
  out.mask_text = table.mask_text;
  out.pad = table.pad;
  out.unk = table.unk;
  out.mask = table.mask;
  if (table.cls != kNone) out.prefix = {table.cls};
  if (table.eos != kNone) out.suffix = {table.eos};
  if (table.name == "antiberty") out.letters['_'] = table.mask;
  out.size = table.size;
  return out;
}

// True where `a` gives the 20 standard residues the ids of `b`, with the same tokens around them.
bool agrees(const Alphabet& a, const Alphabet& b) {
  constexpr std::string_view kStandard = "ACDEFGHIKLMNPQRSTVWY";
  const auto same = [&](char letter) {
    return a.letters[static_cast<size_t>(letter)] == b.letters[static_cast<size_t>(letter)];
  };
  return std::all_of(kStandard.begin(), kStandard.end(), same) && a.pad == b.pad && a.unk == b.unk &&
         a.prefix == b.prefix && a.suffix == b.suffix;
}

int64_t id_of(const Vocabulary& vocabulary, const std::optional<std::string>& token) {
  const auto found = token ? vocabulary.ids.find(*token) : vocabulary.ids.end();
  return found == vocabulary.ids.end() ? kNone : found->second;
}

// The id of the first of these tokens that the vocabulary has.
int64_t first_id(const Vocabulary& vocabulary, std::initializer_list<const char*> tokens) {
  for (const char* token : tokens) {
    const auto found = vocabulary.ids.find(token);
    if (found != vocabulary.ids.end()) return found->second;
  }
  return kNone;
}

Result<std::vector<int64_t>> ids_of(const Vocabulary& vocabulary, const std::vector<std::string>& tokens) {
  std::vector<int64_t> ids;
  for (const std::string& token : tokens) {
    const int64_t id = id_of(vocabulary, token);
    if (id == kNone)
      return Error(Code::kInvalidInput, "'" + vocabulary.files.front() + "' puts the token '" + token +
                                            "' around a sequence, but has no id for it");
    ids.push_back(id);
  }
  return ids;
}

// What stands around a sequence: as tokenizer.json says, else by the tokenizer's class, else by the tokens there are.
Status set_surroundings(const Vocabulary& vocabulary, Alphabet& out) {
  if (vocabulary.prefix && vocabulary.suffix) {
    PLICA_TRY(out.prefix, ids_of(vocabulary, *vocabulary.prefix));
    PLICA_TRY(out.suffix, ids_of(vocabulary, *vocabulary.suffix));
    return {};
  }
  int64_t cls = id_of(vocabulary, vocabulary.cls);
  int64_t eos = id_of(vocabulary, vocabulary.eos);
  if (cls == kNone) cls = first_id(vocabulary, {"<cls>", "[CLS]"});
  if (eos == kNone) eos = first_id(vocabulary, {"<eos>", "[SEP]", "</s>"});
  if (cls != kNone && !vocabulary.tokenizer_class.starts_with("T5")) out.prefix = {cls};
  if (eos != kNone) out.suffix = {eos};
  return {};
}

}  // namespace

std::optional<UnknownPolicy> parse_unknown_policy(std::string_view name) {
  if (name == "x") return UnknownPolicy::kX;
  if (name == "unk") return UnknownPolicy::kUnk;
  if (name == "error") return UnknownPolicy::kError;
  return std::nullopt;
}

Result<Encoding> Alphabet::encode(std::string_view sequence, UnknownPolicy policy) const {
  constexpr std::string_view kMask = "<mask>";
  if (sequence.ends_with('*')) sequence.remove_suffix(1);
  const int64_t x = letters['X'];
  const int64_t replacement = policy == UnknownPolicy::kX && x != kNone ? x : unk;
  Encoding out;
  out.ids.reserve(sequence.size() + prefix.size() + suffix.size());
  out.ids = prefix;
  out.first_residue = static_cast<int64_t>(prefix.size());
  while (!sequence.empty()) {
    const bool own_mask = !mask_text.empty() && sequence.starts_with(mask_text);
    if (mask != kNone && (own_mask || sequence.starts_with(kMask))) {
      out.ids.push_back(mask);
      ++out.num_residues;
      sequence.remove_prefix(own_mask ? mask_text.size() : kMask.size());
      continue;
    }
    const auto character = static_cast<unsigned char>(std::toupper(static_cast<unsigned char>(sequence.front())));
    int64_t id = character < letters.size() ? letters[character] : kNone;
    if (id == kNone) {
      if (policy == UnknownPolicy::kError || replacement == kNone)
        return Error(Code::kInvalidInput, std::string("position ") + std::to_string(out.num_residues + 1) + " holds '" +
                                              sequence.front() + "', which is no letter of the alphabet " + name);
      id = replacement;
      ++out.num_unknown;
    }
    out.ids.push_back(id);
    ++out.num_residues;
    sequence.remove_prefix(1);
  }
  out.ids.insert(out.ids.end(), suffix.begin(), suffix.end());
  return out;
}

std::optional<Alphabet> find_alphabet(std::string_view name) {
  for (const Table& table : kTables)
    if (table.name == name) return build(table);
  return std::nullopt;
}

const std::vector<std::string>& alphabet_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Table& table : kTables) names.emplace_back(table.name);
    return names;
  }();
  return kNames;
}

Result<Alphabet> alphabet_of(const Vocabulary& vocabulary) {
  Alphabet out;
  out.name = vocabulary.files.front();
  out.letters.fill(kNone);
  int64_t num_letters = 0;
  for (const auto& [token, id] : vocabulary.ids) {
    if (id < 0)
      return Error(Code::kInvalidInput,
                   "'" + out.name + "' gives the token '" + token + "' the id " + std::to_string(id));
    out.size = std::max(out.size, id + 1);
    constexpr std::string_view kWordStart = "\xe2\x96\x81";  // SentencePiece writes it before a letter
    const std::string_view letter =
        token.starts_with(kWordStart) ? std::string_view(token).substr(kWordStart.size()) : token;
    if (letter.size() != 1 || letter[0] <= ' ' || letter[0] == 0x7f) continue;
    int64_t& slot = out.letters[static_cast<size_t>(letter[0])];
    if (slot == kNone || letter.size() != token.size()) slot = id;
    num_letters += letter[0] >= 'A' && letter[0] <= 'Z' ? 1 : 0;
  }
  if (num_letters < 20)
    return Error(Code::kInvalidInput, "'" + out.name + "' has tokens for " + std::to_string(num_letters) +
                                          " capital letters; an alphabet of residues has at least 20");
  out.pad = id_of(vocabulary, vocabulary.pad);
  if (out.pad == kNone) out.pad = first_id(vocabulary, {"<pad>", "[PAD]"});
  if (out.pad == kNone) return Error(Code::kInvalidInput, "'" + out.name + "' has no padding token (<pad> or [PAD])");
  out.unk = id_of(vocabulary, vocabulary.unk);
  if (out.unk == kNone) out.unk = first_id(vocabulary, {"<unk>", "[UNK]"});
  out.mask_text = vocabulary.mask.value_or(vocabulary.ids.contains("[MASK]") ? "[MASK]" : "<mask>");
  out.mask = id_of(vocabulary, out.mask_text);
  PLICA_CHECK(set_surroundings(vocabulary, out));
  for (const Table& table : kTables) {
    const Alphabet known = build(table);
    if (agrees(out, known)) return known;
  }
  return out;
}

}  // namespace plica
