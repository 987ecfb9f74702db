#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace gpuos {

/// Freed memory that tasks may still use, oldest first.
///
/// Threads: any.
class FreedMemory {
 public:
  using Marks = std::vector<std::uint64_t>;

  /// `marks`: of each ring, the position that must be passed.
  void add(void* data, std::size_t bytes, Marks marks) {
    const std::lock_guard lock(mutex_);
    freed_.push_back({data, bytes, std::move(marks)});
    bytes_ += bytes;
  }

  /// Returns the marks that free the oldest piece, if all pieces together have
  /// more than `most` bytes.
  std::optional<Marks> oldest_beyond(std::size_t most) {
    const std::lock_guard lock(mutex_);
    if (freed_.empty() || bytes_ <= most) return std::nullopt;
    return freed_.front().marks;
  }

  /// Removes and returns reusable memory. Rings only advance, so the search
  /// stops at the first entry that is not past. It therefore tests at most one
  /// entry more than it removes.
  template <typename IsPast>
  std::vector<void*> take(IsPast is_past) {
    std::vector<void*> ready;
    const std::lock_guard lock(mutex_);
    while (!freed_.empty() && is_past(freed_.front().marks)) {
      ready.push_back(freed_.front().data);
      bytes_ -= freed_.front().bytes;
      freed_.pop_front();
    }
    return ready;
  }

 private:
  struct Freed {
    void* data;
    std::size_t bytes;
    Marks marks;
  };

  std::mutex mutex_;
  std::deque<Freed> freed_;  // under mutex_
  std::size_t bytes_ = 0;    // of all; under mutex_
};

}  // namespace gpuos
