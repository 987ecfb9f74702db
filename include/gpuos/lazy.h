#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "gpuos/export.h"
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
                std::shared_ptr<const ProgramFunction> function,
                const TensorView& form)
      : all_(all), function_(std::move(function)), form_(form) {}
  virtual ~LazyOperation();
  LazyOperation(const LazyOperation&) = delete;
  LazyOperation& operator=(const LazyOperation&) = delete;

  const LazyOperations& all() const noexcept { return all_; }
  const std::shared_ptr<const ProgramFunction>& function() const noexcept {
    return function_;
  }
  /// Returns shape and dtype of the result, without memory.
  const TensorView& form() const noexcept { return form_; }
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
  std::size_t bytes_ = 0;  // size of the memory that it reads
  Buffer own_;             // memory of place()
  std::exception_ptr failure_;
};

/// Holds the operations on arrays of one runtime that are not submitted yet, in
/// the order in which the program wrote them. submit() gives them to a
/// RequestRunner, which makes few programs of them.
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
  /// Adds an operation. Throws: std::bad_alloc.
  void add(LazyOperation& operation, std::span<LazyOperation::Operand> operands,
           std::span<const Scalar> scalars);

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

  void remove(const LazyOperation& operation) noexcept;
  void add_request(const LazyOperation& operation);
  static bool is_needed(void* context, const void* owner, std::uint32_t uses);
  static void* place(void* context, const void* owner);
  static void fail(void* context, const void* owner,
                   const std::exception_ptr& error) noexcept;

  Runtime& runtime_;
  std::vector<LazyOperation*> waiting_;
  std::size_t bytes_ = 0;  // read by those that wait
  std::optional<RequestRunner> runner_;
  std::vector<Request> requests_;
  std::vector<TensorView> views_;
};

}  // namespace gpuos
