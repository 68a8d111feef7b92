#include "loaders/file/byte_source.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "runtime/core/result.h"

namespace plica {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr size_t kLargestRead = size_t{1} << 30;

Error cannot_read(const std::string& name, const std::string& why) {
  return Error(Code::kInvalidInput, "cannot read '" + name + "': " + why);
}

class RangeSource : public ByteSource {
 public:
  RangeSource(std::shared_ptr<InputFile> file, uint64_t offset, uint64_t size)
      : ByteSource(file->path()), file_(std::move(file)), offset_(offset), left_(size) {}

  Result<size_t> read(void* out, size_t size) override {
    const size_t count = static_cast<size_t>(std::min<uint64_t>(size, left_));
    PLICA_CHECK(file_->read_at(offset_, out, count));
    offset_ += count;
    left_ -= count;
    return count;
  }

 private:
  std::shared_ptr<InputFile> file_;
  uint64_t offset_;
  uint64_t left_;
};

// A descriptor read front to back until `stop` can be read from, with a few bytes that were already taken from it given first.
class StreamSource : public ByteSource {
 public:
  StreamSource(std::string name, int fd, bool owned, int stop)
      : ByteSource(std::move(name)), fd_(fd), owned_(owned), stop_(stop) {}
  ~StreamSource() override {
    if (owned_) ::close(fd_);
  }

  // The first up to `size` bytes, which read() gives again.
  Result<std::string> peek(size_t size) {
    std::string head(size, '\0');
    size_t have = 0;
    while (have < size) {
      PLICA_TRY(const size_t got, from_descriptor(head.data() + have, size - have));
      if (got == 0) break;
      have += got;
    }
    head.resize(have);
    head_ = head;
    return head;
  }

  Result<size_t> read(void* out, size_t size) override {
    if (head_.empty()) return from_descriptor(out, size);
    const size_t count = std::min(size, head_.size());
    std::memcpy(out, head_.data(), count);
    head_.erase(0, count);
    return count;
  }

 private:
  Result<size_t> from_descriptor(void* out, size_t size) {
    for (;;) {
      if (stop_ >= 0 && is_stopped()) return cannot_read(name(), "stopped by a signal");
      const ssize_t got = ::read(fd_, out, std::min(size, kLargestRead));
      if (got >= 0) return static_cast<size_t>(got);
      if (errno != EINTR) return cannot_read(name(), std::strerror(errno));
    }
  }

  // Waits until there is something to read, or a reason to stop.
  bool is_stopped() const {
    pollfd ends[] = {{stop_, POLLIN, 0}, {fd_, POLLIN, 0}};
    while (::poll(ends, 2, -1) < 0 && errno == EINTR) continue;
    return ends[0].revents != 0;
  }

  int fd_;
  bool owned_;
  int stop_;
  std::string head_;
};

class InflateSource : public ByteSource {
 public:
  InflateSource(std::unique_ptr<ByteSource> packed, Deflate format)
      : ByteSource(packed->name()), packed_(std::move(packed)), format_(format), buffer_(kBufferBytes) {
    ready_ = inflateInit2(&stream_, format == Deflate::kGzip ? 15 + 16 : -15) == Z_OK;
  }
  ~InflateSource() override {
    if (ready_) inflateEnd(&stream_);
  }

  Result<size_t> read(void* out, size_t size) override {
    if (!ready_) return Error(Code::kOutOfMemory, "no memory to inflate '" + name() + "'");
    const size_t wanted = std::min(size, kLargestRead);
    stream_.next_out = static_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(wanted);
    while (stream_.avail_out == wanted && !at_end_ && wanted > 0) PLICA_CHECK(advance());
    return wanted - stream_.avail_out;
  }

 private:
  Status advance() {
    if (stream_.avail_in == 0) {
      PLICA_TRY(const size_t got, packed_->read(buffer_.data(), buffer_.size()));
      stream_.next_in = buffer_.data();
      stream_.avail_in = static_cast<uInt>(got);
      if (got == 0 && between_members_) return end();
      if (got == 0) return cannot_read(name(), "the compressed data ends early; the file is truncated");
    }
    if (between_members_) {
      if (inflateReset(&stream_) != Z_OK) return cannot_read(name(), "zlib cannot restart");
      between_members_ = false;
    }
    const int code = inflate(&stream_, Z_NO_FLUSH);
    if (code == Z_STREAM_END) {
      if (format_ == Deflate::kRaw) return end();
      between_members_ = true;
    } else if (code != Z_OK && code != Z_BUF_ERROR) {
      return cannot_read(name(), std::string("the compressed data is damaged (") +
                                     (stream_.msg != nullptr ? stream_.msg : "zlib error") + ")");
    }
    return {};
  }

  Status end() {
    at_end_ = true;
    return {};
  }

  std::unique_ptr<ByteSource> packed_;
  Deflate format_;
  std::vector<Bytef> buffer_;
  z_stream stream_{};
  bool ready_ = false;
  bool between_members_ = false;
  bool at_end_ = false;
};

}  // namespace

Status read_exactly(ByteSource& source, void* out, size_t size) {
  size_t have = 0;
  while (have < size) {
    PLICA_TRY(const size_t got, source.read(static_cast<char*>(out) + have, size - have));
    if (got == 0)
      return cannot_read(source.name(), "it ends " + std::to_string(size - have) + " bytes early (" +
                                            std::to_string(size) + " wanted, " + std::to_string(have) + " found)");
    have += got;
  }
  return {};
}

Result<std::shared_ptr<InputFile>> InputFile::open(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_read(path, std::strerror(errno));
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    return cannot_read(path, S_ISDIR(info.st_mode) ? "it is a folder" : "it is not a regular file");
  }
  return std::shared_ptr<InputFile>(new InputFile(path, fd, static_cast<uint64_t>(info.st_size)));
}

InputFile::~InputFile() { ::close(fd_); }

Status InputFile::read_at(uint64_t offset, void* out, size_t size) const {
  size_t have = 0;
  while (have < size) {
    const ssize_t got = ::pread(fd_, static_cast<char*>(out) + have, std::min(size - have, kLargestRead),
                                static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path_, std::strerror(errno));
    if (got == 0)
      return cannot_read(path_, "it ends at byte " + std::to_string(offset + have) + ", byte " +
                                    std::to_string(offset + size) + " is wanted");
    have += static_cast<size_t>(got);
  }
  return {};
}

std::unique_ptr<ByteSource> range_source(std::shared_ptr<InputFile> file, uint64_t offset, uint64_t size) {
  return std::make_unique<RangeSource>(std::move(file), offset, size);
}

std::unique_ptr<ByteSource> inflate_source(std::unique_ptr<ByteSource> packed, Deflate format) {
  return std::make_unique<InflateSource>(std::move(packed), format);
}

Result<std::unique_ptr<ByteSource>> open_text(const std::string& path, int stop) {
  const bool standard_input = path == "-";
  const int fd = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cannot_read(path, std::strerror(errno));
  auto stream = std::make_unique<StreamSource>(standard_input ? "standard input" : path, fd, !standard_input, stop);
  PLICA_TRY(const std::string head, stream->peek(2));
  if (head == "\x1f\x8b") return inflate_source(std::move(stream), Deflate::kGzip);
  return std::unique_ptr<ByteSource>(std::move(stream));
}

Result<size_t> skip_byte_order_mark(const std::string& name, std::string_view head) {
  constexpr std::string_view kUtf8 = "\xef\xbb\xbf", kUtf16[] = {"\xff\xfe", "\xfe\xff"};
  for (const std::string_view mark : kUtf16)
    if (head.starts_with(mark)) return cannot_read(name, "found text in UTF-16, wanted ASCII or UTF-8");
  return head.starts_with(kUtf8) ? kUtf8.size() : 0;
}

}  // namespace plica
