#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gpuos/fused.h"
#include "gpuos/program.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

class RuntimeObject;
struct DeferredOperation;

/// Holds the operations on arrays of one runtime that are not submitted yet.
/// They are in the order in which the program wrote them. run() makes few
/// programs of them. A program has all operations that depend on each other, up
/// to the limit of a task.
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
  pybind11::object defer(const TracedFunction& traced, const TensorView& form,
                         std::span<PyObject* const> arrays,
                         std::span<const Scalar> scalars);
  /// Submits all operations. If one fails, the array of its result raises the
  /// error.
  [[gnu::cold]] void run() noexcept;

 private:
  friend struct DeferredOperation;
  class Gathered;

  // This limits the arguments of a task, except the values at a cut.
  static constexpr std::size_t kMostArguments = 20;
  static constexpr std::size_t kMostOperations = 32;
  static constexpr std::size_t kMostKnown = 4096;

  using Operations = std::vector<std::shared_ptr<DeferredOperation>>;
  using Group = std::span<const std::shared_ptr<DeferredOperation>>;

  /// Holds the words that describe a program of several operations and their
  /// operands.
  using Words = std::vector<std::uint64_t>;
  struct HashOfWords {
    std::size_t operator()(const Words& words) const noexcept;
  };
  struct Combined {
    std::vector<Program> parts;      // the words contain the addresses of these
    std::optional<Program> program;  // none if they do not fit into one
  };

  void add(DeferredOperation& operation);
  void remove(const DeferredOperation& operation) noexcept;
  void wait_for_other_thread() const;
  void run_all(const Operations& operations);
  void run_connected(Group group);
  void run_group(Group group);
  void submit(const Program& program, const Gathered& gathered);
  const Combined& combined(Group group, const Gathered& gathered);

  RuntimeObject& runtime_;
  std::vector<DeferredOperation*> waiting_;
  std::size_t bytes_ = 0;  // free after all operations are submitted
  bool is_running_ = false;
  std::thread::id runner_;
  std::unordered_map<Words, Combined, HashOfWords> known_;
};

}  // namespace gpuos::python
