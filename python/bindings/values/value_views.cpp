
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "arrays/array.h"
#include "arrays/array_shape.h"
#include "convert/array_view.h"
#include "convert/native.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

bool is_slice(py::handle part) { return PySlice_Check(part.ptr()); }
bool is_rest(py::handle part) { return part.ptr() == Py_Ellipsis; }

// Returns whether the part is an integer. Arrays claim to be one, whatever they
// are.
bool is_place(py::handle part) {
  PyObject* const object = part.ptr();
  if (PyIndex_Check(object) == 0 || PyBool_Check(object)) return false;
  if (Py_TYPE(object) == value_type) ask_number(*native<Value>(object));
  if (Py_TYPE(object) == value_type || Py_TYPE(object) == array_type)
    return false;
  return !is_ndarray(object) || is_numpy_scalar(object);
}

[[noreturn]] void refuse_index(py::handle part) {
  const bool is_value = Py_TYPE(part.ptr()) == value_type;
  throw InvalidArgument(
      "[]: expected integers, slices, None or ... that are known when the "
      "function is traced, got " +
      (is_value ? "a value; where() chooses elements by a condition"
                : kind_shown(part) + "; a program has no indices by arrays"));
}

// Returns a bound of a slice. It may be any integer, which stops at the ends as
// Python's does.
std::int64_t bound_of(py::handle bound, std::int64_t otherwise) {
  if (bound.is_none()) return otherwise;
  if (!is_place(bound) && !PyBool_Check(bound.ptr())) refuse_index(bound);
  const Py_ssize_t number = PyNumber_AsSsize_t(bound.ptr(), nullptr);
  if (number == -1 && PyErr_Occurred() != nullptr)
    throw py::error_already_set();
  return number;
}

AxisIndex slice_of(py::handle slice) {
  using Axis = AxisIndex;
  const std::int64_t step = bound_of(slice.attr("step"), 1);
  const bool is_back = step < 0;
  return {.kind = Axis::Kind::Slice,
          .start = bound_of(slice.attr("start"), is_back ? Axis::kLast : 0),
          .stop = bound_of(slice.attr("stop"),
                           is_back ? Axis::kFirst : Axis::kLast),
          .step = step};
}

AxisIndex axis_of(py::handle part) {
  if (is_slice(part)) return slice_of(part);
  return {.kind = AxisIndex::Kind::Place, .start = integer_of(part, "[]")};
}

// Returns how many parts of an index name an axis, and checks the index.
int count_named(const py::tuple& parts, int rank) {
  int named = 0;
  int rests = 0;
  for (const py::handle part : parts) {
    if (is_slice(part) || is_place(part))
      ++named;
    else if (is_rest(part))
      ++rests;
    else if (!part.is_none())
      refuse_index(part);
  }
  if (rests > 1)
    throw InvalidArgument("[]: expected at most one ..., got " +
                          std::to_string(rests));
  if (named > rank)
    throw InvalidArgument("[]: expected at most " + std::to_string(rank) +
                          " indices, one for each axis, got " +
                          std::to_string(named));
  return named;
}

// Returns an array, as NumPy makes an array of a Python number.
Value as_array(const Value& x) {
  return x.is_weak() ? ProgramBuilder::cast(x, x.dtype()) : x;
}

Value get_item(const Value& number_or_array, const py::object& index) {
  const Value x = as_array(number_or_array);
  const py::tuple parts = py::isinstance<py::tuple>(index)
                              ? py::tuple(index)
                              : py::make_tuple(index);
  const auto rank = static_cast<std::size_t>(x.rank());
  const int open = x.rank() - count_named(parts, x.rank());
  std::vector<AxisIndex> axes;
  std::vector<int> dims;  // axes of the result as remaining axes, -1 for a new
                          // one
  int left = 0;
  for (const py::handle part : parts) {
    if (part.is_none()) {
      dims.push_back(-1);
      continue;
    }
    const int count = is_rest(part) ? open : 1;
    for (int i = 0; i < count; ++i) {
      axes.push_back(is_rest(part) ? AxisIndex{} : axis_of(part));
      if (axes.back().keeps_axis()) dims.push_back(left++);
    }
  }
  for (; axes.size() < rank; axes.emplace_back()) dims.push_back(left++);
  const Value kept = ProgramBuilder::index(x, axes);
  // The result is the value itself if nothing changes.
  return dims.size() == static_cast<std::size_t>(left)
             ? kept
             : ProgramBuilder::view(kept, dims);
}

void check_order(const char* name, const std::string& order) {
  if (order != "C")
    throw InvalidArgument(std::string(name) + ": expected order='C', got '" +
                          order + "'");
}

// Returns the value with the shape of f(2, 3) or f((2, 3)).
Value with_shape(const Value& x, const py::args& args,
                 const std::string& order) {
  check_order("reshape", order);
  return ProgramBuilder::reshape(
      as_array(x),
      shape_from(args.size() == 1 ? py::object(args[0]) : py::object(args)));
}

auto flattener(const char* name) {
  return [name](const Value& x, const std::string& order) {
    check_order(name, order);
    return ProgramBuilder::reshape(as_array(x), std::vector<std::int64_t>{-1});
  };
}

Value squeezed(const Value& x, const py::object& axis) {
  if (!axis.is_none()) return squeeze(x, *axes_of(axis));
  const Shape shape = ProgramBuilder::shape_of(x);
  std::vector<int> single;
  for (std::size_t d = 0; d < shape.size(); ++d)
    if (shape[d] == 1) single.push_back(static_cast<int>(d));
  return squeeze(x, single);
}

}  // namespace

void add_views(py::class_<Value>& type) {
  const auto order = py::arg_v("order", "C");
  type.def("__getitem__", &get_item)
      .def("reshape", &with_shape, order)
      .def("ravel", flattener("ravel"), order)
      .def("flatten", flattener("flatten"), order)
      .def("squeeze", &squeezed, py::arg_v("axis", py::none()))
      .def(
          "_broadcast_to",
          [](const Value& x, const py::object& shape) {
            return ProgramBuilder::broadcast_to(as_array(x), shape_from(shape));
          },
          py::arg("shape"))
      .def(
          "_filled",
          [](const Value& x, const py::object& number,
             const py::object& dtype) {
            const Value one = literal_of(
                operands_of({number.ptr(), py::cast(x).ptr()}, "full_like")[0],
                x);
            return ProgramBuilder::broadcast_to(astype(one, dtype_of(dtype)),
                                                x);
          },
          py::arg("number"), py::arg("dtype"));
}

}  // namespace gpuos::python
