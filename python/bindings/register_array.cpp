#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "dlpack.h"
#include "dlpack_export.h"
#include "gpuos/error.h"
#include "registrations.h"

namespace py = pybind11;

namespace gpuos::python {

PyTypeObject* array_type = nullptr;

namespace {

py::tuple shape_of(const TensorView& view) {
  py::tuple shape(view.dims);
  for (std::size_t i = 0; i < view.dims; ++i) shape[i] = view.shape[i];
  return shape;
}

py::dtype numpy_dtype(DType dtype) {
  return py::dtype(std::string(name_of(dtype)));
}

std::vector<py::ssize_t> numpy_shape(const TensorView& view) {
  return {view.shape.begin(), view.shape.begin() + view.dims};
}

std::string device_text(const Array& array) {
  if (!array.runtime().is_cuda()) return "host";
  return "cuda:" + std::to_string(array.runtime().core().options().device);
}

std::string repr(const Array& array) {
  const TensorView& view = array.view_unchecked();
  return "gpuos.Array(shape=" + shape_text(view) +
         ", dtype=" + std::string(name_of(view.dtype)) +
         ", device=" + device_text(array) +
         (array.is_freed() ? ", freed)" : ")");
}

py::array copy_out(const Array& array) {
  const TensorView& view = array.view();
  py::array copy(numpy_dtype(view.dtype), numpy_shape(view));
  array.copy_to_host(copy.mutable_data());
  return copy;
}

py::array view_out(py::handle self) {
  auto& array = self.cast<Array&>();
  const TensorView& view = array.view();
  if (array.runtime().is_cuda()) {
    throw InvalidArgument(
        "numpy: expected copy=True for an array on the device, got "
        "copy=False");
  }
  array.wait();
  array.mark_exported();
  return py::array(numpy_dtype(view.dtype), numpy_shape(view), view.data, self);
}

py::array numpy(py::handle self, bool copy) {
  return copy ? copy_out(self.cast<Array&>()) : view_out(self);
}

// NumPy's protocol: copy None means "only if needed".
py::object to_array(py::handle self, const py::object& dtype,
                    const py::object& copy) {
  auto& array = self.cast<Array&>();
  const bool must_copy = !copy.is_none() && copy.cast<bool>();
  const bool may_copy = copy.is_none() || must_copy;
  const bool copies = must_copy || (may_copy && array.runtime().is_cuda());
  py::object made = numpy(self, copies);
  if (dtype.is_none()) return made;
  return made.attr("astype")(dtype, py::arg("copy") = false);
}

std::int64_t row_count(const Array& array) {
  const TensorView& view = array.view();
  if (view.dims == 0)
    throw py::type_error("array: an array of shape () has no rows");
  return view.shape[0];
}

std::unique_ptr<Array> get_item(const Array& array, const py::object& index) {
  const std::int64_t rows = row_count(array);
  if (py::isinstance<py::slice>(index)) {
    py::ssize_t begin = 0;
    py::ssize_t end = 0;
    py::ssize_t step = 0;
    py::ssize_t count = 0;
    if (!py::slice(index).compute(rows, &begin, &end, &step, &count))
      throw py::error_already_set();
    if (step != 1) {
      throw InvalidArgument("array: expected a slice of step 1, got step " +
                            std::to_string(step));
    }
    return array.rows(begin, begin + count);
  }
  if (PyIndex_Check(index.ptr()) == 0) {
    throw py::type_error(
        std::string("array: expected a row number or a slice, got ") +
        Py_TYPE(index.ptr())->tp_name);
  }
  const py::ssize_t number = PyNumber_AsSsize_t(index.ptr(), PyExc_IndexError);
  if (number == -1 && PyErr_Occurred() != nullptr)
    throw py::error_already_set();
  if (number < -rows || number >= rows) {
    throw py::index_error("array: expected a row under " +
                          std::to_string(rows) + ", got " +
                          std::to_string(number));
  }
  return array.row(number < 0 ? number + rows : number);
}

py::dict interface_of(Array& array) {
  const TensorView& view = array.view();
  array.wait();
  array.mark_exported();
  py::dict interface;
  interface["shape"] = shape_of(view);
  interface["typestr"] = numpy_dtype(view.dtype).attr("str");
  interface["data"] =
      py::make_tuple(reinterpret_cast<std::uintptr_t>(view.data), false);
  interface["strides"] = py::none();
  interface["version"] = 3;
  return interface;
}

[[noreturn]] void no_attribute(const char* name, const char* place) {
  throw py::attribute_error(std::string(name) + ": this array is on the " +
                            place);
}

py::dict host_interface(Array& array) {
  if (array.runtime().is_cuda()) no_attribute("__array_interface__", "device");
  return interface_of(array);
}

py::dict cuda_interface(Array& array) {
  if (!array.runtime().is_cuda())
    no_attribute("__cuda_array_interface__", "host");
  return interface_of(array);
}

py::object export_dlpack(const Array& array, const py::object& /*stream*/,
                         const std::optional<std::pair<int, int>>& max_version,
                         const py::object& dl_device,
                         const std::optional<bool>& copy) {
  if (!dl_device.is_none() && !dl_device.equal(dlpack_device(array))) {
    throw py::buffer_error(
        "dlpack: expected the array's own device, got another");
  }
  if (copy.value_or(false))
    throw py::buffer_error("dlpack: expected copy=False or None, got True");
  array.view();
  array.wait();
  return to_dlpack(
      array, max_version && max_version->first >= int{dlpack::kMajorVersion});
}

}  // namespace

void copy_from(Array& array, const py::object& source) {
  const TensorView& to = array.view();
  const auto from = py::module_::import("numpy")
                        .attr("ascontiguousarray")(source)
                        .cast<py::array>();
  if (!from.dtype().is(numpy_dtype(to.dtype))) {
    throw InvalidArgument("copy_from: expected dtype " +
                          std::string(name_of(to.dtype)) + ", got " +
                          py::cast<std::string>(py::str(from.dtype())));
  }
  // ascontiguousarray() gives a number one axis.
  const bool is_number = to.dims == 0 && from.size() == 1;
  const py::object shape = from.attr("shape");
  if (!is_number && !shape.equal(shape_of(to))) {
    throw InvalidArgument("copy_from: expected shape " + shape_text(to) +
                          ", got " + py::cast<std::string>(py::str(shape)));
  }
  array.copy_from_host(from.data());
}

void register_array(py::module_& module) {
  py::class_<Array> type(
      module, "Array",
      "Memory of a runtime with a shape and a dtype; C order, no gaps.\n\n"
      "Made by Runtime.array(), empty() and zeros(). A row or slice of the\n"
      "first axis shares its memory. NumPy, CuPy, PyTorch and JAX take it\n"
      "without a copy through DLPack or the array interfaces: that waits for\n"
      "the tasks that use it now, not for those submitted later.",
      py::is_final(), plain_metaclass());
  array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
  type.attr("__module__") = "gpuos";
  forbid_new(type);
  type.def_property_readonly(
          "shape", [](const Array& a) { return shape_of(a.view_unchecked()); },
          "Elements along each axis.")
      .def_property_readonly(
          "dtype",
          [](const Array& a) { return numpy_dtype(a.view_unchecked().dtype); },
          "The element type, as a NumPy dtype.")
      .def_property_readonly(
          "ndim", [](const Array& a) { return int{a.view_unchecked().dims}; },
          "How many axes.")
      .def_property_readonly(
          "size", [](const Array& a) { return a.view_unchecked().size(); },
          "How many elements.")
      .def_property_readonly("nbytes", &Array::bytes, "How many bytes.")
      .def_property_readonly(
          "ptr",
          [](Array& a) {
            const auto address =
                reinterpret_cast<std::uintptr_t>(a.view().data);
            a.mark_exported();
            return address;
          },
          "The address. Keep the array alive while it is used.")
      .def_property_readonly("device", &device_text,
                             "\"host\", or such as \"cuda:0\".")
      .def("numpy", &numpy, py::kw_only(), py::arg("copy") = true,
           "Wait for the tasks that use this memory and return an ndarray.\n\n"
           "Parameters\n----------\n"
           "copy : bool\n"
           "    False, host backend only: a view of the same memory. Tasks\n"
           "    submitted later change it.\n\n"
           "Raises\n------\n"
           "InvalidArgument\n    If it was freed, or cannot be a view.\n"
           "TaskError\n    If the runtime is dead. A task that failed is told\n"
           "    by its ticket, synchronize() and close().")
      .def("copy_from", &copy_from, py::arg("source"),
           "Copy `source` here, after the tasks that use this memory.\n\n"
           "Parameters\n----------\n"
           "source : array_like, of this shape and dtype\n"
           "    Made contiguous only if needed.\n\n"
           "Raises\n------\n"
           "InvalidArgument\n    If shape or dtype differ.")
      .def("free", &Array::free,
           "Give the memory back once the tasks that use it are done.\n\n"
           "Any later use raises InvalidArgument. If the address went out (a\n"
           "view, ptr, an array interface), the memory stays until this\n"
           "object goes.")
      .def("__len__", &row_count)
      .def("__getitem__", &get_item, py::arg("index"),
           "Row `index` or rows `begin:end`, sharing memory.")
      .def("__repr__", &repr)
      .def("__array__", &to_array, py::arg("dtype") = py::none(), py::kw_only(),
           py::arg("copy") = py::none())
      .def("__dlpack__", &export_dlpack, py::kw_only(),
           py::arg("stream") = py::none(), py::arg("max_version") = py::none(),
           py::arg("dl_device") = py::none(), py::arg("copy") = py::none())
      .def("__dlpack_device__", &dlpack_device)
      .def_property_readonly("__array_interface__", &host_interface)
      .def_property_readonly("__cuda_array_interface__", &cuda_interface);
}

}  // namespace gpuos::python
