#pragma once

#include <cstdint>
#include <vector>

#include "call.h"
#include "gpuos/operator.h"
#include "gpuos/requests.h"
#include "gpuos/runtime.h"

namespace gpuos::requests {

/// Requests that mean the same as a built-in operator, which is the cheapest
/// way to run one. Those of one level are queued together.
class Direct {
 public:
  explicit Direct(Runtime& runtime);

  /// What was taken and not submitted, because something failed, is forgotten.
  void begin(const Stream& stream);
  /// Takes `request` if it is one of them; false if it is none. It meets none
  /// that was taken since the last flush().
  bool take(const Request& request);
  /// Submits what was taken.
  void flush();

 private:
  /// Calls that are submitted together.
  static constexpr std::size_t kMost = 64;
  /// Fewer are left to find their way into chains.
  static constexpr std::size_t kFewest = 4;

  /// Null: none.
  const Operator* find(const Request& request) const noexcept;

  Runtime& runtime_;
  Operator add_;
  Operator sub_;
  Operator mul_;
  Operator div_;
  Operator copy_;
  Operator fill_;
  Stream stream_;
  std::vector<Call> calls_;  // kMost of them, of which taken_ count
  std::size_t taken_ = 0;
};

}  // namespace gpuos::requests
