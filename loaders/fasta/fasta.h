#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "loaders/file/byte_source.h"

namespace plica {

struct FastaRecord {
  std::string id;           // the first word after '>'
  std::string description;  // the rest of that line
  std::string sequence;     // letters as in the file, blanks removed
  int64_t line = 0;         // of the header, from 1
};

struct FastaItem {
  FastaRecord record;
  std::optional<Error> error;  // why this record cannot be used; reading goes on behind it
};

// FASTA read record by record: wrapped or not, LF, CRLF or CR, blank lines, ';' comments, no final newline, gzip, standard
// input ("-"). Bad records (no id, no sequence, an id seen before, letters before the first header, characters that are
// no text) carry an error: what is wrong with them, for whoever names the record.
class FastaReader {
 public:
  static Result<FastaReader> open(const std::string& path, int stop = -1);  // as open_text() has it
  explicit FastaReader(std::unique_ptr<ByteSource> source);

  // The next record, or nothing at the end. An Error means that the file cannot be read on.
  Result<std::optional<FastaItem>> next();

 private:
  Result<bool> next_line();  // into line_; false at the end
  Status fill();
  void add_residues(FastaItem& item);
  void check(FastaItem& item);
  void reject(FastaItem& item, const std::string& why) const;

  std::unique_ptr<ByteSource> source_;
  std::string buffer_;
  size_t buffer_at_ = 0;
  size_t buffer_end_ = 0;
  bool ended_by_return_ = false;  // the last line: a line feed that follows is no line
  std::string line_;
  int64_t line_number_ = 0;
  bool have_header_ = false;                       // line_ holds the header of the next record
  std::unordered_map<std::string, int64_t> seen_;  // id to line
};

}  // namespace plica
