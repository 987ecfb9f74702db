#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <vector>

#include "gpuos/program.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"
#include "pybind_objects.h"

namespace gpuos::python {

class RuntimeObject;
struct DeferredOperation;
struct Traced;

/// The operations on arrays of one runtime that are not submitted yet, in the
/// order in which they were written. run() makes few programs of them: one of
/// all that depend on each other, up to what a task carries.
///
/// No clock decides: they are run when somebody looks at a result, before
/// anything else is submitted, and when there are many.
///
/// Threads: every member is called with the GIL held. It is away while run()
/// submits; other threads wait then, no longer than RuntimeOptions'
/// submit_timeout for each task, and nothing of Python runs in this one.
class DeferredOperations {
 public:
  explicit DeferredOperations(RuntimeObject& runtime) : runtime_(runtime) {}

  bool is_empty() const noexcept { return waiting_.empty(); }
  /// Whether nothing else is deferred.
  bool is_only(const DeferredOperation& operation) const noexcept {
    return waiting_.size() == 1 && waiting_[0] == &operation && !is_running_;
  }

  /// The array that an operation will give. `arrays` are what it takes: of the
  /// same runtime, and memory that nobody else writes.
  /// Throws: why one of them could not be computed.
  pybind11::object defer(const Traced& traced, const TensorView& form,
                         std::span<PyObject* const> arrays,
                         std::span<const Scalar> scalars);
  /// Submits all. What fails is told by the arrays that it should have given.
  [[gnu::cold]] void run() noexcept;

 private:
  friend struct DeferredOperation;
  class Gathered;

  // The arguments of a task, except the values at a cut.
  static constexpr std::size_t kMostArguments = 20;
  static constexpr std::size_t kMostOperations = 32;
  static constexpr std::size_t kMostKnown = 4096;

  using Operations = std::vector<std::shared_ptr<DeferredOperation>>;
  using Group = std::span<const std::shared_ptr<DeferredOperation>>;

  /// The words that describe a program of several operations and their
  /// operands.
  using Words = std::vector<std::uint64_t>;
  struct HashOfWords {
    std::size_t operator()(const Words& words) const noexcept;
  };
  struct Combined {
    std::vector<Program> parts;      // whose addresses are among the words
    std::optional<Program> program;  // none: they do not fit into one
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
  std::size_t bytes_ = 0;  // that would be free if all were submitted at once
  bool is_running_ = false;
  std::thread::id runner_;
  std::unordered_map<Words, Combined, HashOfWords> known_;
};

}  // namespace gpuos::python
