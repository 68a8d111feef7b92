#include "loaders/onnx/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/core/result.h"

namespace plica::onnx {
namespace {

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Error cannot_read(const std::string& path, std::string_view why) {
  std::string text("cannot read '");
  text.append(path).append("': ").append(why);
  return Error(Code::kInvalidInput, std::move(text));
}

Status read_all(int fd, const std::string& path, char* to, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t got = ::read(fd, to + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot_read(path, std::strerror(errno));
    if (got == 0)
      return cannot_read(path, "it ends after " + std::to_string(done) + " of " + std::to_string(size) + " bytes");
    done += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<void>> allocate(size_t bytes, const std::string& what) {
  constexpr size_t kAlignment = 64;
  void* data = std::aligned_alloc(kAlignment, (bytes + kAlignment) / kAlignment * kAlignment);
  if (data == nullptr)
    return Error(Code::kOutOfMemory, "no memory for the " + std::to_string(bytes) + " bytes of " + what);
  return std::shared_ptr<void>(data, std::free);
}

Result<FileBytes> FileBytes::open(const std::string& path, bool map) {
  // O_NONBLOCK: opening a pipe must not wait for a writer.
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) return cannot_read(path, std::strerror(errno));
  struct stat status {};
  if (::fstat(file.fd, &status) != 0) return cannot_read(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) return cannot_read(path, "it is a folder, wanted a file");
  if (!S_ISREG(status.st_mode)) return cannot_read(path, "it is not a regular file");

  FileBytes file_bytes;
  const size_t size = static_cast<size_t>(status.st_size);
  file_bytes.size_ = size;
  if (size == 0) return file_bytes;
  if (map) {
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (data == MAP_FAILED) return cannot_read(path, std::strerror(errno));
    file_bytes.data_ =
        std::shared_ptr<const void>(data, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
    file_bytes.mapped_ = true;
    return file_bytes;
  }
  PLICA_TRY(auto memory, allocate(size, "file '" + path + "'"));
  PLICA_CHECK(read_all(file.fd, path, static_cast<char*>(memory.get()), size));
  file_bytes.data_ = std::move(memory);
  return file_bytes;
}

Result<FileBytes> FileBytes::copy_of(std::span<const std::byte> bytes) {
  FileBytes copy;
  copy.size_ = bytes.size();
  if (bytes.empty()) return copy;
  PLICA_TRY(auto memory, allocate(bytes.size(), "a copy"));
  std::memcpy(memory.get(), bytes.data(), bytes.size());
  copy.data_ = std::move(memory);
  return copy;
}

}  // namespace plica::onnx
