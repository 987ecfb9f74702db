#include "arguments.h"

#include "gpuos/error.h"

namespace py = pybind11;

namespace gpuos::python {

TensorView Arguments::view_other(PyObject* object, Role role) {
  if (Py_TYPE(object) != array_type) {
    ForeignView foreign = view_foreign(object, runtime_, role);
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
  const TensorView& view = array.view();
  array.mark_exported();
  keep(py::reinterpret_borrow<py::object>(object));
  return view;
}

void Arguments::keep_until(const Ticket& ticket) {
  if (foreign_.size() == 1) {
    runtime_.keep(ticket, std::move(foreign_.front()));
  } else if (!foreign_.empty()) {
    py::tuple all(foreign_.size());
    for (std::size_t i = 0; i < foreign_.size(); ++i)
      all[i] = std::move(foreign_[i]);
    runtime_.keep(ticket, std::move(all));
  }
  foreign_.clear();
}

RuntimeObject& runtime_of(PyObject* self) {
  auto* runtime = native<RuntimeObject>(self);
  if (runtime == nullptr)
    throw py::type_error("Runtime: __init__ was not called");
  return *runtime;
}

}  // namespace gpuos::python
