#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/operator.h"
#include "gpuos/runtime.h"
#include "queue/call.h"

namespace gpuos::requests {

/// The tasks of one level, of which none meets another: they are submitted
/// together.
class LevelCalls {
 public:
  explicit LevelCalls(Runtime& runtime);

  /// Forgets calls that were not submitted because of a failure.
  void begin(const Stream& stream);
  /// Adds a call of an elementwise operator over arrays of `elems` elements
  /// without gaps. The addresses are the output's, then the inputs'.
  /// Throws: as Runtime::submit().
  ///
  /// It is inline so that no argument is passed on. The processor would wait
  /// for a copy of data that was just written in parts.
  void add(const Operator& op, DType dtype, std::uint64_t elems,
           std::span<const std::uint64_t> addresses,
           std::span<const Scalar> params) {
    write_call(calls_[count_], *op.record(), dtype, elems, addresses, params);
    count();
  }
  /// Throws: as Runtime::submit().
  void add(const Program& program, std::span<const TensorView> inputs,
           std::span<const TensorView> outputs,
           std::span<const Scalar> scalars);
  /// Submits the added calls. Throws: as Runtime::submit().
  void flush();

 private:
  /// Calls that are submitted together.
  static constexpr std::size_t kMost = 64;
  /// Fewer are left to find their way into chains.
  static constexpr std::size_t kFewest = 4;

  void count() {
    if (++count_ == kMost) flush();
  }

  Runtime& runtime_;
  Stream stream_;
  std::vector<Call> calls_;  // kMost of them, of which count_ are added
  std::size_t count_ = 0;
};

}  // namespace gpuos::requests
