#include "gpuos/lazy.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace gpuos {
namespace {

LazyOperation& operation_of(const void* owner) noexcept {
  return *static_cast<LazyOperation*>(const_cast<void*>(owner));
}

std::size_t bytes_of(const TensorView& view) noexcept {
  return static_cast<std::size_t>(view.size()) * size_of(view.dtype);
}

}  // namespace

LazyOperation::~LazyOperation() { all_.remove(*this); }

Runtime& LazyOperation::runtime() const noexcept { return all_.runtime(); }

void* LazyOperation::place() {
  own_ = runtime().allocate(bytes_of(form_));
  return own_.get();
}

bool LazyOperations::is_full() const noexcept {
  return waiting_.size() >= kMost ||
         bytes_ > runtime_.options().pending_bytes / 2;
}

void LazyOperations::add(LazyOperation& operation,
                         std::span<LazyOperation::Operand> operands,
                         std::span<const Scalar> scalars) {
  operation.scalars_.assign(scalars.begin(), scalars.end());
  for (LazyOperation::Operand& operand : operands) {
    if (operand.operation == nullptr)
      operation.bytes_ += bytes_of(*operand.view);
    operation.operands_[operation.operand_count_++] = std::move(operand);
  }
  waiting_.push_back(&operation);
  bytes_ += operation.bytes_;
}

void LazyOperations::remove(const LazyOperation& operation) noexcept {
  // The newest operation is usually removed first.
  const auto found = std::find(waiting_.rbegin(), waiting_.rend(), &operation);
  if (found == waiting_.rend()) return;
  waiting_.erase(std::next(found).base());
  bytes_ -= operation.bytes_;
}

void LazyOperations::remove(const Operations& operations) noexcept {
  for (const auto& operation : operations) remove(*operation);
}

LazyOperations::Operations LazyOperations::take() {
  Operations operations;
  operations.reserve(waiting_.size());
  requests_.clear();
  views_.clear();
  for (LazyOperation* operation : waiting_) {
    operations.push_back(operation->shared_from_this());
    add_request(*operation);
  }
  if (!runner_) runner_.emplace(runtime_);
  return operations;
}

void LazyOperations::submit(const Operations& operations) noexcept {
  try {
    runner_->run(requests_, views_, {is_needed, this, place, fail}, {},
                 /*owners_lie_apart=*/true);
  } catch (...) {
    for (const auto& operation : operations)
      fail(this, operation.get(), std::current_exception());
  }
}

void LazyOperations::add_request(const LazyOperation& operation) {
  Request& request = requests_.emplace_back();
  request.function = operation.function_.get();
  request.is_fresh = true;
  request.out_dtype = operation.form_.dtype;
  request.elems = static_cast<std::uint64_t>(operation.form_.size());
  request.out_owner = &operation;
  request.views = static_cast<std::uint32_t>(views_.size());
  views_.push_back(operation.form_);
  for (const LazyOperation::Operand& operand : operation.operands()) {
    const std::size_t i = request.operands++;
    const LazyOperation* const made = operand.operation.get();
    const TensorView& view = made != nullptr ? made->form_ : *operand.view;
    request.dtypes[i] = view.dtype;
    request.owners[i] = made;
    if (made == nullptr) {
      request.owners[i] = view.data;
      request.values[i] = reinterpret_cast<std::uint64_t>(view.data);
    }
    views_.push_back(view);
  }
  for (const Scalar& scalar : operation.scalars_) {
    const std::size_t i = request.operands++;
    request.numbers |= static_cast<std::uint8_t>(1 << i);
    request.values[i] = reinterpret_cast<std::uint64_t>(&scalar);
  }
}

bool LazyOperations::is_needed(void* /*context*/, const void* owner,
                               std::uint32_t /*uses*/) {
  return operation_of(owner).is_wanted();
}

void* LazyOperations::place(void* /*context*/, const void* owner) {
  return operation_of(owner).place();
}

// An operand has the error if `error` is null.
void LazyOperations::fail(void* /*context*/, const void* owner,
                          const std::exception_ptr& error) noexcept {
  LazyOperation& operation = operation_of(owner);
  if (operation.failure_ != nullptr) return;
  operation.failure_ = error;
  for (const LazyOperation::Operand& operand : operation.operands())
    if (operation.failure_ == nullptr && operand.operation != nullptr)
      operation.failure_ = operand.operation->failure_;
}

}  // namespace gpuos
