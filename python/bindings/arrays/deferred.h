#pragma once

#include <memory>
#include <span>
#include <thread>

#include "gpuos/lazy.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

class RuntimeObject;

/// Defers operations on arrays of one runtime.
///
/// Threads: every member is called with the GIL held. run() releases it to
/// submit. Other threads wait then, for each task no longer than
/// RuntimeOptions' submit_timeout. This thread runs no Python code meanwhile.
class DeferredOperations {
 public:
  explicit DeferredOperations(Runtime& runtime) : lazy_(runtime) {}

  bool is_empty() const noexcept { return lazy_.is_empty(); }
  /// Returns whether nothing else is deferred.
  bool is_only(const LazyOperation& operation) const noexcept {
    return lazy_.is_only(operation) && !is_running_;
  }

  /// Returns the array of an operation's future result. `arrays` are its
  /// inputs, which are of this runtime and in memory that only gpuos writes.
  /// Throws: the reason why an input could not be computed.
  pybind11::object defer(RuntimeObject& runtime,
                         const std::shared_ptr<const ProgramFunction>& function,
                         const TensorView& form,
                         std::span<PyObject* const> arrays,
                         std::span<const Scalar> scalars);
  /// Submits all operations. If one fails, the array of its result raises the
  /// error.
  [[gnu::cold]] void run() noexcept;

 private:
  void wait_for_other_thread() const;

  LazyOperations lazy_;
  bool is_running_ = false;
  std::thread::id runner_;
};

}  // namespace gpuos::python
