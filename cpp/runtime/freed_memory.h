#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>
#include <vector>

namespace gpuos {

/// Memory that was given back while tasks may still use it, oldest first.
///
/// Threads: any.
class FreedMemory {
 public:
  using Marks = std::vector<std::uint64_t>;

  /// `marks`: of each ring, the position that must be passed.
  void add(void* data, Marks marks) {
    const std::lock_guard lock(mutex_);
    freed_.push_back({data, std::move(marks)});
  }

  /// Takes out what may be used again. Rings only go on, so what is behind one
  /// that is not past is not asked for: however much waits, that is one
  /// question more than is taken out.
  template <typename IsPast>
  std::vector<void*> take(IsPast is_past) {
    std::vector<void*> ready;
    const std::lock_guard lock(mutex_);
    while (!freed_.empty() && is_past(freed_.front().marks)) {
      ready.push_back(freed_.front().data);
      freed_.pop_front();
    }
    return ready;
  }

 private:
  struct Freed {
    void* data;
    Marks marks;
  };

  std::mutex mutex_;
  std::deque<Freed> freed_;  // under mutex_
};

}  // namespace gpuos
