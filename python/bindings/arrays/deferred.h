#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "gpuos/requests.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

class RuntimeObject;
struct DeferredOperation;
struct Traced;

/// Holds the operations on arrays of one runtime that are not submitted yet.
/// They are in the order in which the program wrote them. run() gives them to a
/// RequestRunner, which makes few programs of them.
///
/// No clock decides. The operations run when the program reads a result, before
/// anything else is submitted, and when there are many.
///
/// Threads: every member is called with the GIL held. run() releases it to
/// submit. Other threads wait then, for each task no longer than
/// RuntimeOptions' submit_timeout. This thread runs no Python code meanwhile.
class DeferredOperations {
 public:
  explicit DeferredOperations(RuntimeObject& runtime) : runtime_(runtime) {}

  bool is_empty() const noexcept { return waiting_.empty(); }
  /// Returns whether nothing else is deferred.
  bool is_only(const DeferredOperation& operation) const noexcept {
    return waiting_.size() == 1 && waiting_[0] == &operation && !is_running_;
  }

  /// Returns the array of an operation's future result. `arrays` are its
  /// inputs, which are of this runtime and in memory that only gpuos writes.
  /// Throws: the reason why an input could not be computed.
  pybind11::object defer(const Traced& traced, const TensorView& form,
                         std::span<PyObject* const> arrays,
                         std::span<const Scalar> scalars);
  /// Submits all operations. If one fails, the array of its result raises the
  /// error.
  [[gnu::cold]] void run() noexcept;

 private:
  friend struct DeferredOperation;

  static constexpr std::size_t kMostOperations = 32;

  void remove(const DeferredOperation& operation) noexcept;
  void wait_for_other_thread() const;
  void add(DeferredOperation& operation);

  RuntimeObject& runtime_;
  std::vector<DeferredOperation*> waiting_;
  std::size_t bytes_ = 0;  // free after all operations are submitted
  bool is_running_ = false;
  std::thread::id runner_thread_;
  std::optional<RequestRunner> runner_;
  std::vector<Request> requests_;
  std::vector<TensorView> views_;
};

}  // namespace gpuos::python
