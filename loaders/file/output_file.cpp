#include "loaders/file/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/core/result.h"

namespace plica {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 16;
constexpr size_t kLargestWrite = size_t{1} << 30;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// 0, or errno.
int write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t done = ::write(fd, data, std::min(size, kLargestWrite));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return errno;
    data += done;
    size -= static_cast<size_t>(done);
  }
  return 0;
}

void sync_folder(const std::string& path) {
  const int fd = ::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);  // best effort: some file systems refuse it for folders
  ::close(fd);
}

mode_t current_umask() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return mask;
}

}  // namespace

Error OutputFile::failed(int error_number) const {
  return Error(Code::kInvalidInput, "cannot write '" + path_ + "': " + std::strerror(error_number));
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  OutputFile file;
  file.path_ = path;
  struct stat info {};
  if (path.empty() || path.back() == '/') return file.failed(path.empty() ? ENOENT : EISDIR);
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    file.fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (file.fd_ < 0) return file.failed(errno);
    return file;
  }
  file.fd_ = ::open(folder_of(path).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file.fd_ >= 0) {
    file.nameless_ = true;
  } else {
    PLICA_CHECK(file.open_named());
  }
  ::fchmod(file.fd_, 0666 & ~current_umask());
  return file;
}

// For file systems that know no file without a name.
Status OutputFile::open_named() {
  temporary_ = folder_of(path_) + "/.plica-XXXXXX.part";
  fd_ = ::mkostemps(temporary_.data(), 5, O_CLOEXEC);
  if (fd_ >= 0) return {};
  temporary_.clear();
  return failed(errno);
}

// Gives a file without a name one, beside its final name: a link cannot replace what stands there, a rename can.
Status OutputFile::name_temporary() {
  const std::string self = "/proc/self/fd/" + std::to_string(fd_);
  for (int attempt = 0;; ++attempt) {
    const std::string name =
        folder_of(path_) + "/.plica-" + std::to_string(::getpid()) + "-" + std::to_string(attempt) + ".part";
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0) {
      temporary_ = name;
      return {};
    }
    if (errno != EEXIST || attempt == 1000) return failed(errno);
  }
}

OutputFile::OutputFile(OutputFile&& other) noexcept { *this = std::move(other); }

OutputFile& OutputFile::operator=(OutputFile&& other) noexcept {
  if (this == &other) return *this;
  discard();
  path_ = std::move(other.path_);
  temporary_ = std::exchange(other.temporary_, {});
  buffer_ = std::move(other.buffer_);
  nameless_ = other.nameless_;
  fd_ = std::exchange(other.fd_, -1);
  size_bytes_ = other.size_bytes_;
  return *this;
}

OutputFile::~OutputFile() { discard(); }

void OutputFile::discard() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

Status OutputFile::flush() {
  const int reason = write_all(fd_, buffer_.data(), buffer_.size());
  buffer_.clear();
  if (reason != 0) return failed(reason);
  return {};
}

Status OutputFile::write(const void* data, size_t size) {
  size_bytes_ += size;
  if (buffer_.size() + size > kBufferBytes) PLICA_CHECK(flush());
  if (size < kBufferBytes) {
    buffer_.append(static_cast<const char*>(data), size);
    return {};
  }
  const int reason = write_all(fd_, static_cast<const char*>(data), size);
  if (reason != 0) return failed(reason);
  return {};
}

Status OutputFile::overwrite(uint64_t offset, const void* data, size_t size) {
  PLICA_CHECK(flush());
  while (size > 0) {
    const ssize_t done = ::pwrite(fd_, data, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return failed(errno);
    data = static_cast<const char*>(data) + done;
    offset += static_cast<uint64_t>(done);
    size -= static_cast<size_t>(done);
  }
  return {};
}

Status OutputFile::commit() {
  PLICA_CHECK(flush());
  if (temporary_.empty() && !nameless_) {
    if (::close(std::exchange(fd_, -1)) != 0) return failed(errno);
    return {};
  }
  if (::fsync(fd_) != 0) return failed(errno);
  if (nameless_) PLICA_CHECK(name_temporary());
  if (::close(std::exchange(fd_, -1)) != 0) return failed(errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) return failed(errno);
  temporary_.clear();
  sync_folder(path_);
  return {};
}

Status write_file(const std::string& path, std::string_view content) {
  PLICA_TRY(OutputFile file, OutputFile::create(path));
  PLICA_CHECK(file.write(content));
  return file.commit();
}

}  // namespace plica
