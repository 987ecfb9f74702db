#include "arrays/deferred.h"

#include <chrono>
#include <exception>
#include <utility>

#include "arrays/deferred_operation.h"
#include "convert/native.h"
#include "module/without_gil.h"
#include "runtime/runtime_object.h"

namespace py = pybind11;

namespace gpuos::python {

void* DeferredOperation::place() {
  PyObject* const kept = keeper.ptr();
  return kept == nullptr ? LazyOperation::place()
                         : native<Array>(kept)->memory_of_result();
}

py::object DeferredOperations::defer(
    RuntimeObject& runtime,
    const std::shared_ptr<const ProgramFunction>& function,
    const TensorView& form, std::span<PyObject* const> arrays,
    std::span<const Scalar> scalars) {
  auto operation = std::make_shared<DeferredOperation>(lazy_, function, form);
  py::object made = Array::make_deferred(runtime, operation);
  // After this loop ends, this function keeps the GIL.
  wait_for_other_thread();
  while (lazy_.is_full()) {
    const std::size_t before = lazy_.size();
    run();
    wait_for_other_thread();
    if (lazy_.size() >= before) break;  // there is no memory, even for that
  }
  auto held = operation->held.begin();
  for (PyObject* object : arrays) {
    Array& array = *native<Array>(object);
    const auto& before = array.operation();
    if (before != nullptr && before->failure() == nullptr) {
      operation->add(before);
      continue;
    }
    held->array = py::reinterpret_borrow<py::object>(object);
    operation->add(held->memory.emplace(array).view());
    ++held;
  }
  operation->set_scalars(scalars);
  lazy_.add(*operation);
  return made;
}

void DeferredOperations::wait_for_other_thread() const {
  while (is_running_ && runner_ != std::this_thread::get_id()) {
    const WithoutGil no_gil;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

void DeferredOperations::run() noexcept {
  wait_for_other_thread();
  if (lazy_.is_empty() || is_running_) return;
  LazyOperations::Operations operations;
  try {
    operations = lazy_.take();
  } catch (const std::exception&) {
    return;  // the operations stay deferred, and Array reports the error
  }
  const auto each = [&](auto function) {
    for (const auto& operation : operations)
      function(static_cast<DeferredOperation&>(*operation));
  };
  // Another thread may release the result meanwhile.
  each([](DeferredOperation& one) { one.keeper = one.held_result(); });
  is_running_ = true;
  runner_ = std::this_thread::get_id();
  {
    const WithoutGil no_gil;
    lazy_.submit(operations);
  }
  lazy_.remove(operations);
  each([](DeferredOperation& one) {
    if (one.keeper && one.result != nullptr && one.failure() == nullptr)
      native<Array>(one.keeper.ptr())->set_computed();
  });
  is_running_ = false;
  // Releasing arrays lets other threads run, and they find all work done.
  each([](DeferredOperation& one) {
    if (one.failure() != nullptr) one.let_go();
    one.keeper = py::object();
  });
}

}  // namespace gpuos::python
