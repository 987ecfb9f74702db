#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "pybind_objects.h"

namespace gpuos::python {

/// Small results that were dropped, used again by turns, with their memory and
/// their objects: to make those anew takes longer than to submit a task.
///
/// Tasks may be pending that use the memory, so it is for what other tasks
/// write before anybody reads it: tasks that share memory run in order, and
/// nobody waits. Very small ones are taken newest first, so that a row of tasks
/// stays in the memory that it knows; to run them one after the other takes
/// less than to submit them. Larger ones take turns, so that a result need not
/// come after the one just dropped.
/// Threads: the GIL.
class ResultArrays {
 public:
  /// A task with a larger result takes longer than the allocator.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;

  ResultArrays() = default;
  ~ResultArrays();
  ResultArrays(const ResultArrays&) = delete;
  ResultArrays& operator=(const ResultArrays&) = delete;

  /// Bytes of memory that a result of so many, at most kMostBytes, is given.
  static constexpr std::size_t size_for(std::size_t bytes) noexcept {
    return std::bit_ceil(bytes < kLeastBytes ? kLeastBytes : bytes);
  }

  /// An array of size_for(bytes), with no reference to it; null: too few were
  /// dropped.
  PyObject* take(std::size_t bytes) noexcept {
    Turns& turns = turns_[class_of(bytes)];
    if (bytes <= kTinyBytes) return turns.pop_newest();
    return turns.count < kFewest ? nullptr : turns.pop_oldest();
  }
  /// Keeps an array without references. False: there are enough.
  bool give(PyObject* array, std::size_t bytes) noexcept {
    Turns& turns = turns_[class_of(bytes)];
    if (turns.count == kMost) return false;
    turns.arrays[(turns.first + turns.count++) % kMost] = array;
    return true;
  }

 private:
  static constexpr std::size_t kLeastBytes = 64;
  static constexpr std::size_t kTinyBytes = 4096;
  static constexpr std::size_t kFewest = 8;  // that take turns
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kClasses =
      std::bit_width(kMostBytes) - std::bit_width(kLeastBytes) + 1;

  struct Turns {
    std::array<PyObject*, kMost> arrays{};
    std::size_t first = 0;
    std::size_t count = 0;

    /// Null: there is none.
    PyObject* pop_newest() noexcept {
      return count == 0 ? nullptr : arrays[(first + --count) % kMost];
    }
    /// There must be one.
    PyObject* pop_oldest() noexcept {
      PyObject* oldest = arrays[first];
      first = (first + 1) % kMost;
      --count;
      return oldest;
    }
  };

  static constexpr std::size_t class_of(std::size_t bytes) noexcept {
    return static_cast<std::size_t>(std::bit_width(size_for(bytes)) -
                                    std::bit_width(kLeastBytes));
  }

  std::array<Turns, kClasses> turns_;
};

/// Has arrays of `type` that nobody refers to any more offered to their
/// runtime's results.
void keep_dropped_results(PyTypeObject* type) noexcept;

}  // namespace gpuos::python
