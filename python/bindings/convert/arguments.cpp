#include "convert/arguments.h"

#include <span>
#include <string>

#include "gpuos/error.h"

namespace py = pybind11;

namespace gpuos::python {

TensorView Arguments::view_other(PyObject* object, Role role) {
  if (Py_TYPE(object) != array_type) {
    if (array_watch != nullptr) tell(object);
    ForeignView foreign = view_foreign(object, runtime_, role);
    keep(std::move(foreign.keep));
    return foreign.view;
  }
  Array& array = *native<Array>(object);
  const std::string device = runtime_.device();
  const std::string other = array.runtime().device();
  if (device != other) {
    throw InvalidArgument(
        role.text() + ": expected an array of this runtime's " + device +
        ", got one of " + other + "; Runtime.array(x.numpy()) copies it");
  }
  const Borrow borrow(array);
  borrow.mark_exported();
  borrow.wait();  // this runtime does not know the other one's tasks
  keep(py::reinterpret_borrow<py::object>(object));
  return borrow.view();
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
