#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpuos/export.h"
#include "gpuos/program.h"
#include "gpuos/requests.h"
#include "gpuos/runtime.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

class LazyOperations;

/// An operation on arrays that is not submitted yet. Its result holds it, and
/// so do the operations that use the result. Without holders it is forgotten.
class GPUOS_API LazyOperation
    : public std::enable_shared_from_this<LazyOperation> {
 public:
  /// An operand: the result of another operation, or memory. The memory stays
  /// and does not change until the operation is submitted.
  struct Operand {
    std::shared_ptr<LazyOperation> operation{};  // null: memory
    const TensorView* view = nullptr;            // of memory
  };

  LazyOperation(LazyOperations& all,
                const std::shared_ptr<const ProgramFunction>& function,
                const TensorView& form)
      : all_(all), function_(function), form_(form) {}
  virtual ~LazyOperation();
  LazyOperation(const LazyOperation&) = delete;
  LazyOperation& operator=(const LazyOperation&) = delete;

  const LazyOperations& all() const noexcept { return all_; }
  const std::shared_ptr<const ProgramFunction>& function() const noexcept {
    return function_;
  }
  /// Returns shape and dtype of the result, without memory.
  const TensorView& form() const noexcept { return form_; }
  /// Adds an operand, before the operation waits. There are at most
  /// kMaxRequestOperands operands and scalars.
  void add(const std::shared_ptr<LazyOperation>& operation) {
    operands_[operand_count_++].operation = operation;
  }
  void add(const TensorView& view) {
    operands_[operand_count_++].view = &view;
    bytes_ += static_cast<std::size_t>(view.size()) * size_of(view.dtype);
  }
  void set_scalars(std::span<const Scalar> scalars) {
    scalars_.assign(scalars.begin(), scalars.end());
  }
  std::span<const Operand> operands() const noexcept {
    return {operands_.data(), operand_count_};
  }
  /// Returns the reason if it could not be submitted, or null.
  const std::exception_ptr& failure() const noexcept { return failure_; }

 protected:
  // Returns whether the program still has the result. Otherwise only other
  // operations use it.
  virtual bool is_wanted() const noexcept = 0;
  // Returns memory for the result, which is going to be written. Throws: as
  // Runtime::allocate().
  virtual void* place();
  Runtime& runtime() const noexcept;

 private:
  friend class LazyOperations;

  LazyOperations& all_;
  std::shared_ptr<const ProgramFunction> function_;
  TensorView form_;
  // An array, because most operations are never more than this object.
  std::array<Operand, kMaxRequestOperands> operands_;
  std::size_t operand_count_ = 0;
  std::vector<Scalar> scalars_;
  std::size_t bytes_ = 0;    // size of the memory that it reads
  std::uint32_t index_ = 0;  // among those that are submitted together
  void* memory_ = nullptr;   // of the result, once it is submitted
  Buffer own_;               // memory of place()
  std::exception_ptr failure_;
};

/// Holds the operations on arrays of one runtime that are not submitted yet, in
/// the order in which the program wrote them. submit() gives them to a
/// RequestRunner, which makes few programs of them, and remembers these: a loop
/// submits the same functions with the same links again and again.
///
/// No clock decides. The program submits them when it reads a result, before it
/// submits anything else, and when there are many.
///
/// Threads: one at a time. Lifetime: not longer than the runtime's.
class GPUOS_API LazyOperations {
 public:
  explicit LazyOperations(Runtime& runtime) : runtime_(runtime) {}

  Runtime& runtime() const noexcept { return runtime_; }
  bool is_empty() const noexcept { return waiting_.empty(); }
  /// Returns whether they should be submitted before more are added.
  bool is_full() const noexcept;
  /// Returns whether nothing else waits.
  bool is_only(const LazyOperation& operation) const noexcept {
    return waiting_.size() == 1 && waiting_[0] == &operation;
  }
  std::size_t size() const noexcept { return waiting_.size(); }

  /// Returns whether an operation of so many arrays and scalars can wait.
  static constexpr bool can_wait(std::size_t operands) noexcept {
    return operands <= kMaxRequestOperands;
  }
  /// Lets an operation wait. Throws: std::bad_alloc.
  void add(LazyOperation& operation) {
    waiting_.push_back(&operation);
    bytes_ += operation.bytes_;
  }

  using Operations = std::vector<std::shared_ptr<LazyOperation>>;
  /// Returns all operations, for submit(). Throws: std::bad_alloc.
  Operations take();
  /// Submits what take() returned. An operation that fails has its reason, and
  /// so have those that use its result.
  void submit(const Operations& operations) noexcept;
  /// Forgets what was submitted.
  void remove(const Operations& operations) noexcept;

 private:
  friend class LazyOperation;

  static constexpr std::size_t kMost = 32;
  static constexpr std::size_t kMostPlans = 4096;

  using Words = std::vector<std::uint64_t>;
  struct GPUOS_PRIVATE HashOfWords {
    std::size_t operator()(const Words& words) const noexcept;
  };
  /// An array that a task reads: the result of an operation, or an input.
  struct Source {
    bool is_result = false;
    std::uint32_t index = 0;
  };
  /// A task of several operations, which have indices.
  struct Task {
    Program program;
    std::vector<std::uint32_t> operations{};  // in the order of their numbers
    std::vector<Source> inputs{};
    std::vector<std::uint32_t> outputs{};
  };
  /// The tasks of operations that words describe.
  struct Plan {
    // The words have the addresses of these.
    std::vector<std::shared_ptr<const ProgramFunction>> functions{};
    std::vector<Task> tasks{};
  };

  void remove(const LazyOperation& operation) noexcept;
  void describe(const Operations& operations);
  std::uint32_t index_of_input(const TensorView& view);
  void run(const Task& task, const Operations& operations) noexcept;
  void run_alone(LazyOperation& operation) noexcept;
  void fail(const Operations& operations,
            const std::exception_ptr& error) noexcept;
  void retry(const Operations& operations) noexcept;
  static void add_missing(LazyOperation& operation, Operations& all);
  void take_inputs(const Task& task, const Operations& operations);
  void make_tasks(const Operations& operations);
  void keep_plan();
  void add_request(const LazyOperation& operation);
  static bool is_needed(void* context, const void* owner, std::uint32_t uses);
  static void* place(void* context, const void* owner);
  static void fail(void* context, const void* owner,
                   const std::exception_ptr& error) noexcept;
  static void note(void* context, const Program& program,
                   std::span<const void* const> owners,
                   std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs);

  Runtime& runtime_;
  std::vector<LazyOperation*> waiting_;
  std::size_t bytes_ = 0;  // read by those that wait
  std::unordered_map<Words, Plan, HashOfWords> plans_;
  // These are of one submit(), and keep their memory for the next.
  Words words_;
  std::vector<const TensorView*> inputs_;  // each array once
  std::vector<TensorView> in_;
  std::vector<TensorView> out_;
  std::vector<Scalar> scalars_;
  bool has_failed_ = false;
  // These make a plan.
  std::optional<RequestRunner> runner_;
  std::vector<Request> requests_;
  std::vector<TensorView> views_;
  Plan made_;
};

}  // namespace gpuos
