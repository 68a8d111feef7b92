#include "loaders/tokenizer/vocabulary.h"

#include <filesystem>

#include "loaders/tokenizer/json_file.h"
#include "runtime/core/result.h"

namespace plica {
namespace {

using nlohmann::json;

Error broken(const std::string& path, const std::string& why) {
  return Error(Code::kInvalidInput, "the tokenizer file '" + path + "' " + why);
}

// A token is written as text or as {"content": text, ...}.
std::optional<std::string> token_text(const json& value) {
  const json& text = value.is_object() ? member(value, "content") : value;
  if (!text.is_string()) return std::nullopt;
  return text.get<std::string>();
}

Status add_table(const json& table, const std::string& path, Vocabulary& out) {
  if (table.is_object()) {
    for (const auto& [token, id] : table.items()) {
      if (!id.is_number_integer()) return broken(path, "gives token '" + token + "' an id that is no integer");
      out.ids[token] = id.get<int64_t>();
    }
    return {};
  }
  if (!table.is_array()) return broken(path, "has no model.vocab table");
  int64_t next = 0;
  for (const json& row : table) {  // Unigram: [token, score] in the order of the ids
    if (!row.is_array() || row.empty() || !row[0].is_string())
      return broken(path, "has a model.vocab row " + std::to_string(next) + " that is no [token, score]");
    out.ids[row[0].get<std::string>()] = next++;
  }
  return {};
}

// TemplateProcessing lists tokens around the sequence; BertProcessing and RobertaProcessing name cls and sep.
void read_post_processor(const json& processor, Vocabulary& out) {
  const json& single = member(processor, "single");
  if (single.is_array()) {
    std::vector<std::string> before;
    std::vector<std::string> after;
    bool passed = false;
    for (const json& part : single) {
      passed |= part.contains("Sequence");
      const auto token = token_text(member(member(part, "SpecialToken"), "id"));
      if (token) (passed ? after : before).push_back(*token);
    }
    out.prefix = before;
    out.suffix = after;
  }
  const json& cls = member(processor, "cls");
  const json& sep = member(processor, "sep");
  if (cls.is_array() && sep.is_array() && !cls.empty() && !sep.empty() && cls[0].is_string() && sep[0].is_string()) {
    out.prefix = {cls[0].get<std::string>()};
    out.suffix = {sep[0].get<std::string>()};
  }
}

void read_special_tokens(const json& object, Vocabulary& out) {
  const auto take = [&](const char* name, std::optional<std::string>& to) {
    if (!to) to = token_text(member(object, name));
  };
  take("cls_token", out.cls);
  take("bos_token", out.cls);
  take("eos_token", out.eos);
  take("sep_token", out.eos);
  take("pad_token", out.pad);
  take("unk_token", out.unk);
  take("mask_token", out.mask);
}

}  // namespace

Result<Vocabulary> read_vocab_txt(const std::string& path) {
  PLICA_TRY(const std::string text, read_small_file(path));
  Vocabulary out;
  int64_t id = 0;
  for (size_t at = 0; at < text.size(); ++id) {
    size_t end = std::min(text.find_first_of("\r\n", at), text.size());
    std::string token = text.substr(at, end - at);
    while (token.ends_with(' ')) token.pop_back();
    if (!token.empty() && !out.ids.emplace(token, id).second)
      return broken(path, "has the token '" + token + "' twice, the second time in line " + std::to_string(id + 1));
    if (text.compare(end, 2, "\r\n") == 0) ++end;
    at = end + 1;
  }
  if (out.ids.empty()) return broken(path, "holds no tokens");
  out.files.push_back(path);
  return out;
}

Result<Vocabulary> read_tokenizer_json(const std::string& path) {
  PLICA_TRY(const json root, read_json_object(path));
  Vocabulary out;
  PLICA_CHECK(add_table(member(member(root, "model"), "vocab"), path, out));
  const json& added = member(root, "added_tokens");
  if (added.is_array())
    for (const json& token : added) {
      const auto text = token_text(token);
      if (text && member(token, "id").is_number_integer()) out.ids[*text] = token["id"].get<int64_t>();
    }
  out.unk = token_text(member(member(root, "model"), "unk_token"));
  read_post_processor(member(root, "post_processor"), out);
  if (out.ids.empty()) return broken(path, "holds no tokens");
  out.files.push_back(path);
  return out;
}

Result<std::optional<Vocabulary>> read_vocabulary(const std::string& folder) {
  const auto path_of = [&](const char* name) { return (std::filesystem::path(folder) / name).string(); };
  const auto exists = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored);
  };
  std::optional<Vocabulary> out;
  if (exists(path_of("tokenizer.json"))) {
    PLICA_TRY(out, read_tokenizer_json(path_of("tokenizer.json")));
  } else if (exists(path_of("vocab.txt"))) {
    PLICA_TRY(out, read_vocab_txt(path_of("vocab.txt")));
  } else {
    return out;
  }
  for (const char* name : {"special_tokens_map.json", "tokenizer_config.json"}) {
    const std::string path = path_of(name);
    if (!exists(path)) continue;
    PLICA_TRY(const json root, read_json_object(path));
    read_special_tokens(root, *out);
    if (member(root, "tokenizer_class").is_string()) out->tokenizer_class = root["tokenizer_class"].get<std::string>();
    out->files.push_back(path);
  }
  return out;
}

}  // namespace plica
