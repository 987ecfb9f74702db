#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/runtime.h"

namespace gpuos::bench {

/// A runtime and many triples of float32 buffers for it: out = a + b.
///
/// Threads: one.
class Rig {
 public:
  /// `elems` is the room of each buffer.
  Rig(const RuntimeOptions& options, std::size_t sets, std::int64_t elems);

  Runtime& runtime() noexcept { return runtime_; }
  const Operator& add() const noexcept { return add_; }
  std::size_t sets() const noexcept { return sets_; }
  /// The room of each buffer.
  std::int64_t elems() const noexcept {
    return static_cast<std::int64_t>(stride_);
  }
  /// Throws: InvalidArgument unless that many fit a buffer.
  void check_elems(std::int64_t elems) const;

  /// `tasks` adds of `elems` elements, round the sets from `first` on. Valid
  /// until the next call.
  ManyTasks many(std::size_t tasks, std::int64_t elems, std::size_t first = 0);
  std::uint64_t out_address(std::size_t task) const;
  std::uint64_t a_address(std::size_t task) const;
  std::uint64_t b_address(std::size_t task) const;
  /// The first `elems` elements of the task's buffers: a, b and out.
  std::array<TensorView, 3> views(std::size_t task, std::int64_t elems) const;

  /// Overwrites every output.
  void poison();
  /// Elements that are not a + b in the first `elems` of the first `sets`
  /// outputs, or that were written behind them.
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

/// Throws: Error unless every element was right.
void check_right(std::uint64_t wrong, const std::string& what);

/// Numbers in [0.5, 1.5), the same for the same seed.
std::vector<float> random_floats(std::size_t count, std::uint32_t seed);

}  // namespace gpuos::bench
