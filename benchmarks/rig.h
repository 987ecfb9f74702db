#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/runtime.h"

namespace gpuos::bench {

/// A runtime and many triples of its float32 buffers: out = a + b.
///
/// Threads: one.
class Rig {
 public:
  /// `elems` is the capacity of each buffer in elements.
  Rig(const RuntimeOptions& options, std::size_t sets, std::int64_t elems);

  Runtime& runtime() noexcept { return runtime_; }
  const Operator& add() const noexcept { return add_; }
  std::size_t sets() const noexcept { return sets_; }
  /// Returns the capacity of each buffer in elements.
  std::int64_t elems() const noexcept {
    return static_cast<std::int64_t>(stride_);
  }
  /// Throws: InvalidArgument unless `elems` elements fit into a buffer.
  void check_elems(std::int64_t elems) const;

  /// Returns `tasks` adds of `elems` elements, which use the sets in turns from
  /// `first` on. The result is valid until the next call.
  ManyTasks many(std::size_t tasks, std::int64_t elems, std::size_t first = 0);
  std::uint64_t out_address(std::size_t task) const;
  std::uint64_t a_address(std::size_t task) const;
  std::uint64_t b_address(std::size_t task) const;
  /// Returns the first `elems` elements of the task's buffers a, b and out.
  std::array<TensorView, 3> views(std::size_t task, std::int64_t elems) const;

  /// Overwrites every output.
  void poison();
  /// Returns the number of wrong elements in the first `sets` outputs. The
  /// first `elems` elements must be a + b. All others must be unchanged.
  std::uint64_t count_wrong(std::size_t sets, std::int64_t elems);

  /// Throws: Timeout.
  void wait(const Ticket& ticket);
  void synchronize();
  void close() { runtime_.close(); }

 private:
  std::uint64_t address(const Buffer& base, std::size_t task) const;

  Runtime runtime_;
  Operator add_;
  std::size_t sets_;
  std::size_t stride_;  // elements
  Buffer out_;
  Buffer a_;
  Buffer b_;
  std::vector<float> host_a_;
  std::vector<float> host_b_;
  std::vector<std::uint64_t> out_addresses_;
  std::vector<std::uint64_t> a_addresses_;
  std::vector<std::uint64_t> b_addresses_;
};

/// Throws: Error if elements are wrong.
void check_right(std::uint64_t wrong, const std::string& what);

/// Returns numbers in [0.5, 1.5). Equal seeds give equal numbers.
std::vector<float> random_floats(std::size_t count, std::uint32_t seed);

}  // namespace gpuos::bench
