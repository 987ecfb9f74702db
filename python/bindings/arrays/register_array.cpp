#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "arrays/array.h"
#include "arrays/array_numpy.h"
#include "arrays/array_shape.h"
#include "arrays/result_arrays.h"
#include "convert/native.h"
#include "convert/numpy_dtype.h"
#include "gpuos/dlpack.h"
#include "module/python_module.h"
#include "module/registrations.h"

namespace py = pybind11;

namespace gpuos::python {

PyTypeObject* array_type = nullptr;

namespace {

std::string device_text(const Array& array) { return array.runtime().device(); }

std::int64_t row_count(Array& array) {
  const Borrow borrow(array);
  const TensorView& view = borrow.view();
  if (view.dims == 0)
    throw py::type_error("array: an array of shape () has no rows");
  return view.shape[0];
}

std::unique_ptr<Array> view_at(Array& array, const py::object& index) {
  const Borrow borrow(array);
  return borrow.with_view(indexed(borrow.view(), index));
}

py::object copy_of(Array& array, py::object view) {
  return array.runtime().core().is_closed() ? std::move(view) : copied(view);
}

// Returns a view. For a number NumPy makes a new array, and writes there do not
// change the number.
py::object viewed(Array& array, const TensorView& view) {
  py::object made = py::cast(Borrow(array).with_view(view));
  return array.is_number() && view.dims != 0 ? copy_of(array, std::move(made))
                                             : made;
}

// Returns the item. NumPy makes one element a number, which no later write
// changes. Here it is a copy that waits for nothing.
py::object get_item(Array& array, const py::object& index) {
  const TensorView view = [&] {
    const Borrow borrow(array);
    return indexed(borrow.view(), index);
  }();
  py::object made = viewed(array, view);
  const bool is_of_one = is_of_element(array.form(), index);
  const bool is_of_number = array.is_number() && !array.is_element();
  if (!is_of_one && !(is_of_number && view.dims == 0)) return made;
  made = copy_of(array, std::move(made));
  if (is_of_one)
    native<Array>(made.ptr())->set_element();
  else
    native<Array>(made.ptr())->set_number(false);  // s[...] is an array
  return made;
}

py::object transpose(Array& array, const py::args& axes) {
  const Borrow borrow(array);
  return viewed(array, transposed(borrow.view(), axes));
}

py::object reshape(Array& array, const py::args& shape) {
  const Borrow borrow(array);
  return viewed(array, reshaped(borrow.view(), shape));
}

py::object real_part(Array& array) {
  const Borrow borrow(array);
  const TensorView& view = borrow.view();
  return viewed(array, is_complex(view.dtype) ? part_of(view, false) : view);
}

// Returns the imaginary part. A real array has none, so its zeros are new.
py::object imaginary_part(const py::object& self) {
  const Borrow borrow(self.cast<Array&>());
  const TensorView& view = borrow.view();
  if (is_complex(view.dtype))
    return py::cast(borrow.with_view(part_of(view, true)));
  return python_module("gpuos.array_methods").attr("imaginary_part")(self);
}

void set_elements(const py::object& array, const py::object& value) {
  python_module("gpuos.array_methods")
      .attr("set_item")(array, py::ellipsis(), value);
}

void set_real_part(const py::object& self, const py::object& value) {
  set_elements(real_part(self.cast<Array&>()), value);
}

void set_imaginary_part(const py::object& self, const py::object& value) {
  const DType dtype = self.cast<Array&>().form().dtype;
  if (!is_complex(dtype)) {
    throw py::type_error(
        "array: expected a complex dtype, which has imag to set, got " +
        std::string(name_of(dtype)));
  }
  set_elements(imaginary_part(self), value);
}

py::object export_dlpack(const py::object& self, const py::object& /*stream*/,
                         const std::optional<std::pair<int, int>>& max_version,
                         const py::object& dl_device,
                         const std::optional<bool>& copy) {
  auto& array = self.cast<Array&>();
  if (!dl_device.is_none() && !dl_device.equal(dlpack_device(array))) {
    throw py::buffer_error(
        "dlpack: expected the array's own device, got another");
  }
  const bool is_versioned =
      max_version && max_version->first >= int{dlpack::kMajorVersion};
  if (!copy.value_or(false)) return to_dlpack(array, is_versioned, 0);
  const py::object made =
      python_module("gpuos.array_methods").attr("copy")(self);
  return to_dlpack(made.cast<Array&>(), is_versioned, dlpack::kCopiedFlag);
}

// Returns whether the arrays have bytes in common and are not the same view.
// Then written elements may be read again.
bool overlap(Array& a, Array& b) {
  const Borrow one(a);
  const Borrow other(b);
  const TensorView& x = one.view();
  const TensorView& y = other.view();
  const ByteRange mine = x.byte_range();
  const ByteRange its = y.byte_range();
  if (mine.low >= its.high || its.low >= mine.high) return false;
  const bool is_same_view =
      x.data == y.data && x.dtype == y.dtype && x.dims == y.dims &&
      std::equal(x.shape.begin(), x.shape.begin() + x.dims, y.shape.begin()) &&
      strides_of(x) == strides_of(y);
  return !is_same_view;
}

// Returns the bytes in use. Dask and others plan with this number. After the
// wait, they find the memory in use instead of a process that grows later.
std::size_t size_in_use(Array& self) {
  try {
    if (!self.is_freed()) Borrow(self).wait();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
    // Code that reads the array gets the error.
  }
  return sizeof(Array) + self.bytes();
}

}  // namespace

void register_array(py::module_& module) {
  auto type = add_result_class<Array>(module, "Array",
                                      py::custom_type_setup(&fill_array_slots));
  array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  keep_dropped_results(array_type);
  type.def_property_readonly("shape",
                             [](const Array& a) { return shape_of(a.form()); })
      .def_property_readonly(
          "dtype", [](const Array& a) { return numpy_dtype(a.form().dtype); })
      .def_property_readonly("ndim",
                             [](const Array& a) { return int{a.form().dims}; })
      .def_property_readonly("size",
                             [](const Array& a) { return a.form().size(); })
      .def_property_readonly(
          "itemsize", [](const Array& a) { return size_of(a.form().dtype); })
      .def_property_readonly("nbytes", &Array::bytes)
      .def_property_readonly(
          "strides", [](const Array& a) { return strides_tuple(a.form()); })
      .def_property_readonly("T",
                             [](Array& a) { return transpose(a, py::args()); })
      .def_property("real", &real_part, &set_real_part)
      .def_property("imag", &imaginary_part, &set_imaginary_part)
      .def("transpose", &transpose)
      .def("reshape", &reshape)
      .def_property_readonly(
          "ptr",
          [](Array& a) {
            if (a.is_element()) refuse_element("ptr");
            const Borrow borrow(a);
            borrow.mark_exported();
            return reinterpret_cast<std::uintptr_t>(borrow.view().data);
          })
      .def_property_readonly(
          "runtime",
          [](const Array& a) { return a.runtime().shared_from_this(); })
      .def_property_readonly("device", &device_text)
      .def("numpy", &to_numpy, py::kw_only(), py::arg("copy") = true)
      .def("copy_from", &copy_from, py::arg("source"))
      .def("free", &Array::free)
      .def("__len__", &row_count)
      .def("__sizeof__", &size_in_use)
      .def("__getitem__", &get_item, py::arg("index"))
      .def("__array__", &to_array, py::arg("dtype") = py::none(), py::kw_only(),
           py::arg("copy") = py::none())
      .def("__dlpack__", &export_dlpack, py::kw_only(),
           py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
           py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", &dlpack_device);
  add_methods(type);
  module.def("_settled_memory", &settled_memory, py::arg("array"));
  module.def("_bytes_of", &bytes_of, py::arg("array"));
  module.def("_set_bytes", &set_bytes, py::arg("array"), py::arg("source"));
  module.def(
      "_dtype_name",
      [](const Array& array) {
        return std::string(name_of(array.form().dtype));
      },
      py::arg("array"));
  module.def(
      "_is_freed", [](const Array& array) { return array.is_freed(); },
      py::arg("array"));
  module.def("_view_at", &view_at, py::arg("array"), py::arg("index"));
  module.def(
      "_is_number", [](const Array& array) { return array.is_number(); },
      py::arg("array"));
  module.def(
      "_set_number",
      [](Array& array, bool is_number) { array.set_number(is_number); },
      py::arg("array"), py::arg("is_number"));
  module.def("_overlap", &overlap, py::arg("a"), py::arg("b"));
}

}  // namespace gpuos::python
