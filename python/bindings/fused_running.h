#pragma once

#include <utility>

#include "fused_object.h"

namespace gpuos::python {

class Fused::Running {
 public:
  /// Begins a call. With `forgets` it drops programs that were traced with
  /// functions that are replaced now. Otherwise no such program runs.
  explicit Running(Fused& fused, bool forgets = true) : fused_(fused) {
    if (forgets && fused.seen_ != replacements) [[unlikely]]
      fused.forget_if_parts_were_replaced();
    ++fused.running_;
  }
  ~Running() {
    if (--fused_.running_ == 0 && !fused_.left_.empty()) [[unlikely]] {
      // Releasing the programs may run code that calls this object.
      const AllTraced left = std::exchange(fused_.left_, {});
    }
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Fused& fused_;
};

}  // namespace gpuos::python
