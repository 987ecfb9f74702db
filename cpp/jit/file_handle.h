#pragma once

#include <unistd.h>

#include <utility>

namespace gpuos::jit {

/// Sole owner of a file descriptor.
class FileHandle {
 public:
  explicit FileHandle(int fd = -1) noexcept : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileHandle() { close(); }

  bool is_open() const noexcept { return fd_ >= 0; }
  int get() const noexcept { return fd_; }
  bool close() noexcept {
    return fd_ < 0 || ::close(std::exchange(fd_, -1)) == 0;
  }

 private:
  int fd_;
};

}  // namespace gpuos::jit
