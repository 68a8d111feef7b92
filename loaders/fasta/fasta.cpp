#include "loaders/fasta/fasta.h"

#include <algorithm>
#include <utility>

#include "runtime/core/result.h"

namespace plica {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr std::string_view kBlanks = " \t\v\f";

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

void parse_header(std::string_view line, FastaRecord& record) {
  const std::string_view text = trimmed(line.substr(1));
  const size_t end = std::min(text.find_first_of(kBlanks), text.size());
  record.id = text.substr(0, end);
  record.description = trimmed(text.substr(end));
}

std::string quoted(unsigned char character) {
  if (character > ' ' && character < 0x7f) return std::string("'") + static_cast<char>(character) + "'";
  constexpr char kHex[] = "0123456789abcdef";
  return std::string("byte 0x") + kHex[character >> 4] + kHex[character & 15];
}

}  // namespace

Result<FastaReader> FastaReader::open(const std::string& path, int stop) {
  PLICA_TRY(auto source, open_text(path, stop));
  return FastaReader(std::move(source));
}

FastaReader::FastaReader(std::unique_ptr<ByteSource> source)
    : source_(std::move(source)), buffer_(kBufferBytes, '\0') {}

void FastaReader::reject(FastaItem& item, const std::string& why) const {
  if (!item.error) item.error = Error(Code::kInvalidInput, why);
}

// More of the source; none at its end. The first time at least as much as a byte order mark has.
Status FastaReader::fill() {
  const bool is_first = buffer_end_ == 0;
  size_t got = 1;
  for (buffer_at_ = buffer_end_ = 0; got > 0 && buffer_end_ < (is_first ? 3 : 1); buffer_end_ += got) {
    PLICA_TRY(got, source_->read(buffer_.data() + buffer_end_, buffer_.size() - buffer_end_));
  }
  const std::string_view bytes(buffer_.data(), buffer_end_);
  if (is_first) {
    PLICA_TRY(buffer_at_, skip_byte_order_mark(source_->name(), bytes));
  }
  if (bytes.find('\0') == std::string_view::npos) return {};
  return Error(Code::kInvalidInput, "'" + source_->name() + "' is no FASTA file: it holds binary data near line " +
                                        std::to_string(line_number_ + 1));
}

Result<bool> FastaReader::next_line() {
  line_.clear();
  for (;;) {
    if (buffer_at_ == buffer_end_) {
      PLICA_CHECK(fill());
      if (buffer_at_ == buffer_end_ && line_.empty()) return false;
      if (buffer_at_ == buffer_end_) break;
    }
    if (ended_by_return_ && buffer_[buffer_at_] == '\n') ++buffer_at_;
    ended_by_return_ = false;
    const std::string_view rest = std::string_view(buffer_).substr(buffer_at_, buffer_end_ - buffer_at_);
    const size_t length = std::min(rest.find_first_of("\r\n"), rest.size());
    line_.append(rest, 0, length);
    buffer_at_ += length;
    if (length == rest.size()) continue;
    ended_by_return_ = rest[length] == '\r';
    ++buffer_at_;
    break;
  }
  ++line_number_;
  return true;
}

void FastaReader::add_residues(FastaItem& item) {
  for (const char character : line_) {
    if (kBlanks.find(character) != std::string_view::npos) continue;
    const auto byte = static_cast<unsigned char>(character);
    if (byte < ' ' || byte >= 0x7f)
      reject(item,
             "holds " + quoted(byte) + " in line " + std::to_string(line_number_) + "; a sequence is plain letters");
    item.record.sequence += character;
  }
}

void FastaReader::check(FastaItem& item) {
  const FastaRecord& record = item.record;
  if (record.id.empty()) reject(item, "has no id; a name must follow '>'");
  if (record.sequence.empty()) reject(item, "has no sequence");
  if (record.id.empty()) return;
  const auto [first, is_new] = seen_.emplace(record.id, record.line);
  if (!is_new) reject(item, "has an id that line " + std::to_string(first->second) + " already has; ids must differ");
}

Result<std::optional<FastaItem>> FastaReader::next() {
  FastaItem item;
  bool started = std::exchange(have_header_, false);
  if (started) {
    item.record.line = line_number_;
    parse_header(line_, item.record);
  }
  for (;;) {
    PLICA_TRY(const bool more, next_line());
    if (!more) break;
    if (line_.starts_with(';')) continue;
    if (line_.starts_with('>')) {
      if (started) {
        have_header_ = true;
        break;
      }
      started = true;
      item.record.line = line_number_;
      parse_header(line_, item.record);
      continue;
    }
    if (!started && trimmed(line_).empty()) continue;
    if (!started) {
      started = true;
      item.record.line = line_number_;
      reject(item, "starts without a header; '>' and an id must come before the letters");
    }
    add_residues(item);
  }
  if (!started) return std::optional<FastaItem>();
  check(item);
  return std::optional<FastaItem>(std::move(item));
}

}  // namespace plica
