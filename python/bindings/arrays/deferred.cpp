#include "arrays/deferred.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "arrays/deferred_operation.h"
#include "convert/native.h"
#include "fused/fused_object.h"
#include "gpuos/error.h"
#include "module/without_gil.h"
#include "runtime/runtime_object.h"

namespace py = pybind11;

namespace gpuos::python {

namespace {

DeferredOperation& operation_of(const void* owner) noexcept {
  return *static_cast<DeferredOperation*>(const_cast<void*>(owner));
}

// Returns whether the program still has the result.
bool is_needed(void* /*context*/, const void* owner,
               std::uint32_t /*uses*/) noexcept {
  return operation_of(owner).keeper.ptr() != nullptr;
}

void* place(void* context, const void* owner) {
  DeferredOperation& operation = operation_of(owner);
  if (PyObject* const kept = operation.keeper.ptr(); kept != nullptr)
    return native<Array>(kept)->memory_of_result();
  const auto elems = static_cast<std::size_t>(operation.form.size());
  operation.own = static_cast<Runtime*>(context)->allocate(
      elems * size_of(operation.form.dtype));
  return operation.own.get();
}

// Without an error an operand has one.
void fail(void* /*context*/, const void* owner,
          const std::exception_ptr& error) noexcept {
  DeferredOperation& operation = operation_of(owner);
  if (operation.failure != nullptr) return;
  operation.failure = error;
  for (const DeferredOperand& operand : operation.operands)
    if (operation.failure == nullptr && operand.operation != nullptr)
      operation.failure = operand.operation->failure;
}

}  // namespace

void DeferredOperations::remove(const DeferredOperation& operation) noexcept {
  // The newest operation is usually removed first.
  const auto found = std::find(waiting_.rbegin(), waiting_.rend(), &operation);
  if (found == waiting_.rend()) return;
  waiting_.erase(std::next(found).base());
  bytes_ -= operation.bytes;
}

py::object DeferredOperations::defer(const Traced& traced,
                                     const TensorView& form,
                                     std::span<PyObject* const> arrays,
                                     std::span<const Scalar> scalars) {
  auto operation =
      std::make_shared<DeferredOperation>(*this, traced.function(), form);
  py::object made = Array::make_deferred(runtime_, operation);
  // After this loop ends, this function keeps the GIL.
  wait_for_other_thread();
  const std::size_t most = runtime_.core().options().pending_bytes / 2;
  while (waiting_.size() >= kMostOperations || bytes_ > most) {
    const std::size_t before = waiting_.size();
    run();
    wait_for_other_thread();
    if (waiting_.size() >= before) break;  // there is no memory, even for that
  }
  operation->scalars.assign(scalars.begin(), scalars.end());
  operation->operands.reserve(arrays.size());
  for (PyObject* object : arrays) {
    Array& array = *native<Array>(object);
    const auto& before = array.operation();
    if (before != nullptr && before->failure == nullptr) {
      operation->operands.emplace_back().operation = before;
      continue;
    }
    DeferredOperand& operand = operation->operands.emplace_back();
    operand.array = py::reinterpret_borrow<py::object>(object);
    operand.memory.emplace(array);
    operation->bytes += array.bytes();
  }
  waiting_.push_back(operation.get());
  bytes_ += operation->bytes;
  return made;
}

void DeferredOperations::wait_for_other_thread() const {
  while (is_running_ && runner_thread_ != std::this_thread::get_id()) {
    const WithoutGil no_gil;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void DeferredOperations::run() noexcept {
  wait_for_other_thread();
  if (waiting_.empty() || is_running_) return;
  std::vector<std::shared_ptr<DeferredOperation>> operations;
  try {
    operations.reserve(waiting_.size());
    requests_.clear();
    views_.clear();
    for (DeferredOperation* operation : waiting_) {
      operations.push_back(operation->shared_from_this());
      // Another thread may release the result meanwhile.
      operation->keeper = operation->held_result();
      add(*operation);
    }
    if (!runner_) runner_.emplace(runtime_.core());
  } catch (const std::exception&) {
    return;  // the operations stay deferred, and Array reports the error
  }
  is_running_ = true;
  runner_thread_ = std::this_thread::get_id();
  try {
    const WithoutGil no_gil;
    runner_->run(requests_, views_, {is_needed, &runtime_.core(), place, fail},
                 Stream{},
                 /*owners_are_disjoint=*/true);
  } catch (const std::exception&) {
    for (const auto& operation : operations)
      fail(nullptr, operation.get(), std::current_exception());
  }
  for (const auto& operation : operations) {
    remove(*operation);
    PyObject* const kept = operation->keeper.ptr();
    if (kept != nullptr && operation->result != nullptr &&
        operation->failure == nullptr)
      native<Array>(kept)->set_computed();
  }
  is_running_ = false;
  // Releasing arrays lets other threads run, and they find all work done.
  for (const auto& operation : operations) {
    if (operation->failure != nullptr) operation->operands.clear();
    operation->keeper = py::object();
  }
}

void DeferredOperations::add(DeferredOperation& operation) {
  Request& request = requests_.emplace_back();
  request.function = operation.function.get();
  request.is_fresh = true;
  request.out_dtype = operation.form.dtype;
  request.elems = static_cast<std::uint64_t>(operation.form.size());
  request.out_owner = &operation;
  request.views = static_cast<std::uint32_t>(views_.size());
  views_.push_back(operation.form);
  for (const DeferredOperand& operand : operation.operands) {
    const std::size_t i = request.operands++;
    const DeferredOperation* const made = operand.operation.get();
    const TensorView& view =
        made != nullptr ? made->form : operand.memory->view();
    request.dtypes[i] = view.dtype;
    request.owners[i] = made != nullptr ? made : view.data;
    if (made == nullptr)
      request.values[i] = reinterpret_cast<std::uint64_t>(view.data);
    views_.push_back(view);
  }
  for (const Scalar& scalar : operation.scalars) {
    const std::size_t i = request.operands++;
    request.numbers |= static_cast<std::uint8_t>(1 << i);
    request.values[i] = reinterpret_cast<std::uint64_t>(&scalar);
  }
}

}  // namespace gpuos::python
