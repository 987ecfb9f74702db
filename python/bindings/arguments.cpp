#include "arguments.h"

#include <cstdint>
#include <span>
#include <string>

#include "gpuos/dtype.h"
#include "gpuos/error.h"
#include "python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

/// Whether it lies where no element of its dtype does.
bool is_odd(const TensorView& view) {
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  return (address & (size_of(view.dtype) - 1)) != 0;  // a power of two
}

}  // namespace

TensorView Arguments::view_other(PyObject* object, Role role) {
  if (Py_TYPE(object) != array_type) {
    if (array_watch != nullptr) tell(object);
    ForeignView foreign = view_foreign(object, runtime_, role);
    if (is_odd(foreign.view) && role.input >= 0) [[unlikely]]
      foreign = aligned(object, foreign.view, role);
    keep(std::move(foreign.keep));
    return foreign.view;
  }
  Array& array = *native<Array>(object);
  const RuntimeObject& owner = array.runtime();
  if (owner.is_cuda() != runtime_.is_cuda()) {
    throw InvalidArgument(role.text() + ": expected an array of this " +
                          std::string(runtime_.core().backend()) +
                          " runtime, got one of a " +
                          std::string(owner.core().backend()) + " runtime");
  }
  const Borrow borrow(array);
  borrow.mark_exported();
  keep(py::reinterpret_borrow<py::object>(object));
  return borrow.view();
}

// What other processes send lies anywhere in a buffer, and NumPy takes it.
// Whoever copies reads at once, so what writes there comes first.
ForeignView Arguments::aligned(PyObject* object, const TensorView& odd,
                               Role role) {
  if (runtime_.is_cuda() || use_ == For::Forms || !is_ndarray(object))
    return {odd, py::reinterpret_borrow<py::object>(object)};
  const ByteRange range = odd.byte_range();
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  runtime_.wait_for_memory(reinterpret_cast<const void*>(range.low),
                           range.high - range.low);
  const py::object copy = python_module("numpy").attr("array")(
      py::handle(object), py::arg("order") = "C");
  return view_foreign(copy.ptr(), runtime_, role);
}

void Arguments::tell(PyObject* object) {
  is_told_ = true;
  if (!array_watch->before(object, &runtime_.core()))
    throw py::error_already_set();
}

void Arguments::keep_until(const Ticket& ticket) {
  runtime_.keep(ticket, std::span(kept_few_.data(), few_kept_));
  few_kept_ = 0;
  if (!kept_.empty()) runtime_.keep(ticket, kept_);
  kept_.clear();
}

RuntimeObject& runtime_of(PyObject* self) {
  auto* runtime = native<RuntimeObject>(self);
  if (runtime == nullptr)
    throw py::type_error("Runtime: __init__ was not called");
  return *runtime;
}

}  // namespace gpuos::python
