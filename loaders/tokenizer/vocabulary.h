#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plica/error.h"

namespace plica {

// What the tokenizer files beside a model say: tokens with their ids, and the part that special tokens play.
struct Vocabulary {
  std::unordered_map<std::string, int64_t> ids;
  std::optional<std::string> cls, eos, pad, unk, mask;  // as special_tokens_map.json or tokenizer_config.json name them
  std::string tokenizer_class;                          // "EsmTokenizer", "BertTokenizer", ..., or empty
  std::optional<std::vector<std::string>> prefix;       // tokens put before a sequence, where tokenizer.json says so
  std::optional<std::vector<std::string>> suffix;       // tokens put behind it
  std::vector<std::string> files;                       // what was read
};

// One token a line, ended by LF, CRLF or CR; the line number from 0 is its id.
Result<Vocabulary> read_vocab_txt(const std::string& path);

// tokenizer.json of the tokenizers library: WordLevel, WordPiece, BPE and Unigram tables, added tokens, post-processor.
Result<Vocabulary> read_tokenizer_json(const std::string& path);

// tokenizer.json, else vocab.txt, with special_tokens_map.json and tokenizer_config.json, from one folder.
// Nothing where the folder has no table of tokens.
Result<std::optional<Vocabulary>> read_vocabulary(const std::string& folder);

}  // namespace plica
