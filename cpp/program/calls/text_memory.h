#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "queue/backend.h"

namespace gpuos::program {

/// The place of a program's text for the workers.
struct Text {
  std::uint64_t address = 0;
  std::size_t shared_bytes = 0;  // of one in shared memory; 0: in the backend's
  bool is_used = false;          // by a call
  std::shared_ptr<void> chunk{};  // that contains it, unless that is shared
};

/// The texts of programs, aligned to cache lines. A chunk is freed when the
/// last of its texts is gone; shared texts stay until the end.
///
/// The first call of a program reads its text where the host wrote it, because
/// a copy takes longer than that. Later ones read a copy in memory of the
/// backend.
///
/// Threads: one at a time.
class TextMemory {
 public:
  /// `shared` is Traits::shared_words. `free_later` frees memory after the
  /// tasks that read it.
  TextMemory(Backend& backend, std::span<std::uint64_t> shared,
             std::function<void(void*)> free_later)
      : backend_(backend),
        shared_(shared),
        free_later_(std::move(free_later)) {}
  TextMemory(const TextMemory&) = delete;
  TextMemory& operator=(const TextMemory&) = delete;

  Text add(std::span<const std::uint64_t> words);
  /// Returns a copy of the text in memory of the backend. `text` is in shared
  /// memory.
  Text copy_of(const Text& text);

 private:
  Text copy(std::span<const std::uint64_t> words);

  Backend& backend_;
  std::span<std::uint64_t> shared_;  // its unused rest
  std::function<void(void*)> free_later_;
  std::shared_ptr<void> chunk_;  // the last chunk
  std::uint64_t next_ = 0;       // in it
  std::size_t left_ = 0;
};

}  // namespace gpuos::program
