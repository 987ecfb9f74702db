// Binds gpuos.Value, which stands for an array while a function is traced. Its
// methods are in gpuos/value_methods.py and call the functions below.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "arrays/array_shape.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "fused/fused_numbers.h"
#include "module/python_methods.h"
#include "module/registrations.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

constexpr const char* kMethods =
    "max min ptp any all argmax argmin sum prod mean var std astype transpose "
    "conj conjugate copy reshape ravel flatten squeeze clip round dot item "
    "tolist __len__ __iter__ __getitem__ __setitem__ __delitem__ __contains__ "
    "__array__ __array_ufunc__ __array_function__ __round__ __floor__ "
    "__ceil__ __trunc__ __bool__ __int__ __float__ __complex__ __index__ "
    "__str__ __format__ __getattr__";

// Returns the type of a number, so that isinstance(k, int) is right.
py::object class_of(const py::object& self) {
  const py::object type = type_of_number(self.cast<const Value&>());
  return type ? type : py::object(py::type::of(self));
}

// Adds the property to the dict. An assignment would set the class of the type.
void add_class_property(const py::handle& type) {
  auto* const object = reinterpret_cast<PyTypeObject*>(type.ptr());
  const py::object property =
      py::module_::import("builtins")
          .attr("property")(py::cpp_function(&class_of));
  if (PyDict_SetItemString(object->tp_dict, "__class__", property.ptr()) != 0)
    throw py::error_already_set();
  PyType_Modified(object);
}

// Returns an array, as NumPy makes an array of a Python number.
Value as_array(const Value& x) {
  return x.is_weak() ? ProgramBuilder::cast(x, x.dtype()) : x;
}

// Returns a bound of a slice. It may be any integer, which stops at the ends as
// Python's does.
std::int64_t bound_of(const py::object& bound, std::int64_t otherwise) {
  if (bound.is_none()) return otherwise;
  const Py_ssize_t number = PyNumber_AsSsize_t(bound.ptr(), nullptr);
  if (number == -1 && PyErr_Occurred() != nullptr)
    throw py::error_already_set();
  return number;
}

AxisIndex axis_of(py::handle part) {
  using Axis = AxisIndex;
  if (part.is_none()) return {};
  if (!PySlice_Check(part.ptr()))
    return {.kind = Axis::Kind::Place, .start = integer_of(part, "[]")};
  const std::int64_t step = bound_of(part.attr("step"), 1);
  const bool is_back = step < 0;
  return {
      .kind = Axis::Kind::Slice,
      .start = bound_of(part.attr("start"), is_back ? Axis::kLast : 0),
      .stop = bound_of(part.attr("stop"), is_back ? Axis::kFirst : Axis::kLast),
      .step = step};
}

// `places` are an integer, a slice or None for each of the first axes. `dims`
// are the axes of the result: remaining axes, and -1 for a new one.
Value index(const Value& number_or_array, const py::list& places,
            const std::vector<int>& dims) {
  const Value x = as_array(number_or_array);
  std::vector<AxisIndex> axes(static_cast<std::size_t>(x.rank()));
  std::ranges::transform(places, axes.begin(), axis_of);
  const Value kept = ProgramBuilder::index(x, axes);
  // The result is the value itself if nothing changes.
  const bool has_new = std::ranges::find(dims, -1) != dims.end();
  return has_new ? ProgramBuilder::view(kept, dims) : kept;
}

Value filled(const Value& x, const py::object& number,
             const py::object& dtype) {
  const Operand one =
      operands_of({number.ptr(), py::cast(x).ptr()}, "full_like")[0];
  return ProgramBuilder::broadcast_to(
      astype(literal_of(one, x), dtype_of(dtype)), x);
}

// Returns the number that a value is in this call, which decides from now on.
py::object told(const Value& x) {
  if (py::object number = tell_number(x)) return number;
  throw py::key_error("a value that is no number");
}

std::string value_repr(const Value& x) {
  if (const py::object number = tell_number(x))
    return py::repr(number).cast<std::string>();
  return "gpuos.Value(dtype=" + std::string(name_of(x.dtype())) +
         ", ndim=" + std::to_string(x.rank()) +
         (x.is_weak() ? ", a number)" : ")");
}

py::object number_or_none(py::object number) {
  return number ? std::move(number) : py::none();
}

template <typename Class>
void add_attributes(Class& type) {
  type.def_property_readonly(
          "dtype", [](const Value& x) { return numpy_dtype(x.dtype()); })
      .def_property_readonly("ndim", &Value::rank)
      .def_property_readonly("_is_number", &Value::is_weak)
      .def("_told", &told)
      .def("_ask", &ask_number)
      .def_property_readonly("T", [](const Value& x) { return transpose(x); })
      .def_property_readonly("mT",
                             [](const Value& x) { return swapaxes(x, -2, -1); })
      .def("swapaxes", &swapaxes, py::arg("axis1"), py::arg("axis2"))
      .def_property_readonly(
          "shape",
          [](const Value& x) {
            return py::tuple(py::cast(ProgramBuilder::shape_of(x)));
          })
      .def("__repr__", &value_repr)
      .def("_index", &index)
      .def("_filled", &filled)
      .def("_astype",
           [](const Value& x, const py::object& dtype) {
             return astype(x, dtype_of(dtype));
           })
      .def("_transpose",
           [](const Value& x, const py::object& axes) {
             return transpose(x, axes_of(axes));
           })
      .def("_squeeze",
           [](const Value& x, const py::object& axes) {
             return squeeze(x, *axes_of(axes));
           })
      .def("_reshape",
           [](const Value& x, const py::object& shape) {
             return ProgramBuilder::reshape(as_array(x), shape_from(shape));
           })
      .def("_broadcast_to", [](const Value& x, const py::object& shape) {
        return ProgramBuilder::broadcast_to(as_array(x), shape_from(shape));
      });
}

}  // namespace

void register_value(py::module_& module) {
  auto type = add_result_class<Value>(module, "Value",
                                      py::custom_type_setup(&fill_value_slots));
  value_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  add_class_property(type);
  add_attributes(type);
  add_python_methods(type, "gpuos.value_methods", kMethods);
  add_python_properties(type, "gpuos.value_methods", "real imag size");
  module.def("_number_result", [](const py::object& function,
                                  const py::tuple& operands) {
    const std::span all(PySequence_Fast_ITEMS(operands.ptr()), operands.size());
    return number_or_none(number_result(function, all));
  });
  module.def("_numbers_result",
             [](const py::object& function, const py::object& args,
                const py::object& keywords) {
               return number_or_none(numbers_result(function, args, keywords));
             });
}

}  // namespace gpuos::python
