#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend.h"

namespace gpuos::program {

/// Texts of programs in memory of the backend, many in one allocation. They
/// stay until the end.
///
/// Threads: one at a time.
class TextMemory {
 public:
  explicit TextMemory(Backend& backend) : backend_(backend) {}
  ~TextMemory();
  TextMemory(const TextMemory&) = delete;
  TextMemory& operator=(const TextMemory&) = delete;

  /// The address of a copy of `words`, at the beginning of a cache line.
  std::uint64_t add(std::span<const std::uint64_t> words);

 private:
  Backend& backend_;
  std::vector<void*> chunks_;
  std::uint64_t next_ = 0;  // in the last chunk
  std::size_t left_ = 0;
};

}  // namespace gpuos::program
