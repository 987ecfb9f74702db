#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "module/pybind_objects.h"

namespace gpuos::python {

/// Keeps small results that the program dropped, with their memory and their
/// objects, and uses them again by turns. To make them again takes longer than
/// to submit a task.
///
/// Pending tasks may use the memory, so it serves only arrays that other tasks
/// write before any reader. Tasks that share memory run in order, and no thread
/// waits. Very small arrays are taken newest first, so that a row of tasks
/// stays in memory that it knows. Running these one after the other takes less
/// time than submitting them. Larger ones take turns, so that a result need not
/// wait for the one just dropped.
/// Threads: the GIL is held.
class ResultArrays {
 public:
  /// Limits the size. A task with a larger result takes longer than the
  /// allocator.
  static constexpr std::size_t kMostBytes = std::size_t{64} << 10;

  ResultArrays() = default;
  ~ResultArrays();
  ResultArrays(const ResultArrays&) = delete;
  ResultArrays& operator=(const ResultArrays&) = delete;

  /// Returns the bytes of memory for a result of `bytes`, which is at most
  /// kMostBytes.
  static constexpr std::size_t size_for(std::size_t bytes) noexcept {
    return std::bit_ceil(bytes < kLeastBytes ? kLeastBytes : bytes);
  }

  /// Returns an array of size_for(bytes), without a reference to it. Returns
  /// null if the program dropped too few.
  PyObject* take(std::size_t bytes) noexcept {
    Turns& turns = turns_[class_of(bytes)];
    if (bytes <= kTinyBytes) return turns.pop_newest();
    return turns.count < kFewest ? nullptr : turns.pop_oldest();
  }
  /// Keeps an array without references. Returns false if there are enough.
  bool give(PyObject* array, std::size_t bytes) noexcept {
    Turns& turns = turns_[class_of(bytes)];
    if (turns.count == kMost) return false;
    turns.arrays[(turns.first + turns.count++) % kMost] = array;
    return true;
  }

 private:
  static constexpr std::size_t kLeastBytes = 64;
  static constexpr std::size_t kTinyBytes = 4096;
  static constexpr std::size_t kFewest = 8;  // arrays that take turns
  static constexpr std::size_t kMost = 64;
  static constexpr std::size_t kClasses =
      std::bit_width(kMostBytes) - std::bit_width(kLeastBytes) + 1;

  struct Turns {
    std::array<PyObject*, kMost> arrays{};
    std::size_t first = 0;
    std::size_t count = 0;

    /// Returns null if there is none.
    PyObject* pop_newest() noexcept {
      return count == 0 ? nullptr : arrays[(first + --count) % kMost];
    }
    /// Returns the oldest array. There must be one.
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

/// Offers arrays of `type` that lost all references to their runtime's results.
void keep_dropped_results(PyTypeObject* type) noexcept;

}  // namespace gpuos::python
