#include "arrays/array_shape.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using Extents = std::vector<std::int64_t>;

std::string tuple_text(const std::int64_t* numbers, std::size_t count) {
  std::string text = "(";
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(numbers[i]);
  }
  if (count == 1) text += ',';
  return text + ")";
}

// ---- These functions let NumPy make views. They use an array with this shape
// and these strides, whose memory is never read.

alignas(16) char no_memory[16];

py::array shadow_of(const TensorView& view) {
  const auto strides = view.element_strides();
  const auto item = static_cast<py::ssize_t>(size_of(view.dtype));
  std::vector<py::ssize_t> shape(view.dims);
  std::vector<py::ssize_t> bytes(view.dims);
  for (std::size_t i = 0; i < view.dims; ++i) {
    shape[i] = view.shape[i];
    bytes[i] = strides[i] * item;
  }
  // With an owner the array is a view of the memory, not a copy.
  return {py::dtype("V" + std::to_string(item)), shape, bytes, no_memory,
          py::int_(0)};
}

TensorView view_from(const TensorView& view, const py::array& shadow) {
  if (shadow.ndim() > static_cast<py::ssize_t>(kMaxDims))
    throw InvalidArgument("array: expected at most " +
                          std::to_string(kMaxDims) + " dimensions, got " +
                          std::to_string(shadow.ndim()));
  TensorView made = view;
  made.dims = static_cast<std::uint8_t>(shadow.ndim());
  made.has_strides = true;
  made.shape.fill(0);
  for (std::size_t i = 0; i < made.dims; ++i) {
    const auto axis = static_cast<py::ssize_t>(i);
    made.shape[i] = shadow.shape(axis);
    made.strides[i] =
        shadow.strides(axis) / static_cast<py::ssize_t>(size_of(view.dtype));
  }
  // An empty view may have no address to move to.
  if (made.size() > 0)
    made.data = static_cast<char*>(made.data) +
                (static_cast<const char*>(shadow.data()) - no_memory);
  return without_needless_strides(made);
}

bool is_ellipsis(py::handle item) { return item.ptr() == Py_Ellipsis; }

void refuse_mask(py::handle item) {
  if (!py::hasattr(item, "dtype") || !py::hasattr(item, "__array__")) return;
  const py::object dtype = item.attr("dtype");
  if (!dtype.equal(py::dtype::of<bool>())) return;
  throw py::type_error(
      "array: expected integers, slices, None or ... as an index, got a mask: "
      "how many elements it selects is not known before it is computed; "
      "write x[mask] = y, x[...] = np.where(mask, x + y, x) for x[mask] += y, "
      "or x.numpy()[mask], which copies");
}

// NumPy takes lists, arrays and bools, and raises IndexError for other objects.
[[noreturn]] void refuse_index(py::handle item) {
  refuse_mask(item);
  const std::string refused =
      "array: expected integers, slices, None or ... as an index, got " +
      kind_shown(item);
  if (PyList_Check(item.ptr()) || PyTuple_Check(item.ptr()) ||
      PyBool_Check(item.ptr()) ||
      py::getattr(item, "ndim", py::int_(0)).cast<int>() > 0)
    throw py::type_error(refused + "; x.numpy() copies, and has the others");
  throw py::index_error(refused);
}

// A bool is a mask in NumPy, not a number.
bool is_integer_index(PyObject* item) {
  return PyIndex_Check(item) != 0 && !PyBool_Check(item);
}

// Returns the index with an Ellipsis, so that the result is a view, also of one
// element. Integer objects become int first. NumPy would read memory for arrays
// of integers or bools.
py::tuple basic_index(const py::object& index) {
  const bool is_tuple = py::isinstance<py::tuple>(index);
  const py::tuple given = is_tuple ? py::tuple(index) : py::make_tuple(index);
  py::list basic;
  bool has_ellipsis = false;
  for (const py::handle item : given) {
    if (is_integer_index(item.ptr())) {
      if (!PyLong_CheckExact(item.ptr())) {
        refuse_mask(item);
        if (py::getattr(item, "ndim", py::int_(0)).cast<int>() > 0)
          refuse_index(item);
      }
      basic.append(index_of(item, "array"));
      continue;
    }
    if (!py::isinstance<py::slice>(item) && !item.is_none() &&
        !is_ellipsis(item))
      refuse_index(item);
    has_ellipsis = has_ellipsis || is_ellipsis(item);
    basic.append(item);
  }
  if (!has_ellipsis) basic.append(py::ellipsis());
  return py::tuple(basic);
}

// Returns the numbers of f(2, 3) or f((2, 3)). NumPy gets a copy that no thread
// changes while it reads.
Extents numbers_of(const py::args& args) {
  return shape_from(args.size() == 1 ? py::object(args[0]) : py::object(args));
}

// Calls `make`. Turns NumPy's refusal into an error with `expected` and NumPy's
// text.
template <typename F>
py::array shadow_by(const std::string& expected, F make) {
  try {
    return make();
  } catch (const py::error_already_set& error) {
    const bool is_refusal =
        error.matches(PyExc_ValueError) || error.matches(PyExc_AttributeError);
    if (!is_refusal) throw;
    throw InvalidArgument(expected + ": " +
                          std::string(py::str(error.value())));
  }
}

// NumPy before 2.1 cannot refuse a copy in reshape(). Setting the shape refuses
// one.
py::array reshaped_shadow(py::array shadow, const py::object& shape) {
  const bool can_refuse = made_once([] {
    return python_module("numpy").attr("__version__").cast<std::string>() >=
           "2.1";
  });
  if (can_refuse) return shadow.attr("reshape")(shape, py::arg("copy") = false);
  shadow.attr("shape") = shape;
  return shadow;
}

}  // namespace

Extents shape_from(const py::object& shape) {
  if (PyIndex_Check(shape.ptr()) != 0) return {integer_of(shape, "shape")};
  return integers_of(shape, "shape");
}

py::tuple shape_of(const TensorView& view) {
  py::tuple shape(view.dims);
  for (std::size_t i = 0; i < view.dims; ++i) shape[i] = view.shape[i];
  return shape;
}

std::string shape_text(const TensorView& view) {
  return tuple_text(view.shape.data(), view.dims);
}

Extents strides_of(const TensorView& view) {
  const auto strides = view.element_strides();
  Extents bytes(strides.begin(), strides.begin() + view.dims);
  for (std::int64_t& stride : bytes)
    stride *= static_cast<std::int64_t>(size_of(view.dtype));
  return bytes;
}

py::tuple strides_tuple(const TensorView& view) {
  const Extents bytes = strides_of(view);
  py::tuple strides(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) strides[i] = bytes[i];
  return strides;
}

TensorView without_needless_strides(const TensorView& view) {
  TensorView same = view;
  same.has_strides = !view.is_contiguous();
  return same;
}

TensorView indexed(const TensorView& view, const py::object& index) {
  if (view.dims == 0 && PyLong_Check(index.ptr()) != 0)
    throw py::type_error("array: an array of shape () has no rows");
  const py::tuple basic = basic_index(index);
  return view_from(
      view, shadow_by("array: expected an index of " + to_string(view),
                      [&]() -> py::array { return shadow_of(view)[basic]; }));
}

bool is_of_element(const TensorView& view, py::handle index) {
  if (PyTuple_Check(index.ptr()) == 0)
    return view.dims == 1 && is_integer_index(index.ptr());
  const auto items = py::reinterpret_borrow<py::tuple>(index);
  return items.size() == view.dims &&
         std::ranges::all_of(items, [](py::handle item) {
           return is_integer_index(item.ptr());
         });
}

TensorView transposed(const TensorView& view, const py::args& axes) {
  const bool is_reversed =
      axes.empty() || (axes.size() == 1 && axes[0].is_none());
  const Extents order = is_reversed ? Extents() : numbers_of(axes);
  const std::string expected = "transpose: expected each of " +
                               std::to_string(view.dims) + " axes once, got " +
                               tuple_text(order.data(), order.size());
  return view_from(view, shadow_by(expected, [&]() -> py::array {
                     const py::array shadow = shadow_of(view);
                     if (is_reversed) return shadow.attr("T");
                     return shadow.attr("transpose")(order);
                   }));
}

TensorView part_of(const TensorView& view, bool is_imaginary) {
  TensorView part = view;
  part.dtype = gpuos::part_of(view.dtype);
  part.has_strides = true;
  part.strides = view.element_strides();
  for (std::int64_t& stride : part.strides) stride *= 2;
  if (is_imaginary)
    part.data = static_cast<std::byte*>(part.data) + size_of(part.dtype);
  return without_needless_strides(part);
}

TensorView reshaped(const TensorView& view, const py::args& shape) {
  const Extents wanted = numbers_of(shape);
  const std::string expected =
      "reshape: expected a shape of " + std::to_string(view.size()) +
      " elements that needs no copy, got " +
      tuple_text(wanted.data(), wanted.size()) + " of " + to_string(view);
  return view_from(view, shadow_by(expected, [&] {
                     return reshaped_shadow(shadow_of(view), py::cast(wanted));
                   }));
}

}  // namespace gpuos::python
