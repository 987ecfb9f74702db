#include "kernels/kernel_arguments.h"

#include <pybind11/numpy.h>

#include <string>

#include "arrays/array.h"
#include "convert/array_view.h"
#include "convert/dlpack_view.h"
#include "convert/reading.h"
#include "gpuos/dlpack.h"
#include "gpuos/error.h"
#include "module/pybind_objects.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

[[noreturn]] void refuse(std::size_t index, const std::string& expected,
                         const std::string& got) {
  throw InvalidArgument("argument " + std::to_string(index) + ": expected " +
                        expected + ", got " + got);
}

void add_integer(KernelArgs& args, PyObject* value, std::size_t index) {
  const auto number = scalar_of_int(value);
  if (!number) refuse(index, "an integer of at most 64 bits", "a larger one");
  if (number->is_above_int64())
    args.add(static_cast<std::uint64_t>(number->integer()));
  else
    args.add(*number);
}

bool is_of(const py::handle& value, const char* module, const char* type) {
  return py::isinstance(value, python_module(module).attr(type));
}

void add_bytes(KernelArgs& args, const py::bytes& bytes, std::string type) {
  const std::string_view view = bytes;
  args.add_bytes(view.data(), view.size(), std::move(type));
}

void add_numpy_scalar(KernelArgs& args, const py::handle& value,
                      std::size_t index) {
  const py::object dtype = value.attr("dtype");
  std::string type = shown(dtype);
  // Dates, texts and objects are no values of a kernel.
  constexpr std::string_view kKinds = "biufcV";
  const std::string kind = text_of(dtype.attr("kind"), "dtype");
  if (kKinds.find(kind) == kKinds.npos)
    refuse(index, "a number or a structure of NumPy", type);
  if (is_of(value, "numpy", "void")) type = "struct";
  add_bytes(args, value.attr("tobytes")(), std::move(type));
}

void* dlpack_pointer(const py::object& capsule, std::size_t index) {
  const dlpack::Tensor* const tensor = dlpack_of(capsule.ptr()).tensor;
  if (tensor->device.type != dlpack::kCuda &&
      tensor->device.type != dlpack::kCudaManaged)
    refuse(index, "an array on the device", "one in other memory");
  return static_cast<char*>(tensor->data) + tensor->byte_offset;
}

void* device_pointer(const py::handle& value, std::size_t index) {
  if (has_attribute(value, "__cuda_array_interface__")) {
    return interface_data(value.attr("__cuda_array_interface__"),
                          {"launch", static_cast<int>(index)})
        .address;
  }
  const MemoryKind memory = memory_of(value.ptr());
  if (!memory.is_known || !memory.is_cuda)
    refuse(index,
           "a number, a NumPy scalar, a ctypes object or an array on the "
           "device",
           memory.is_known ? "host memory: " + type_text(value.ptr())
                           : type_text(value.ptr()));
  return dlpack_pointer(value.attr("__dlpack__")(), index);
}

// Adds a torch.Tensor. Its interfaces would refuse gradients and dtypes that
// other libraries lack.
bool add_tensor(KernelArgs& args, const py::handle& value, std::size_t index) {
  if (!has_attribute(value, "data_ptr") || !has_attribute(value, "is_cuda"))
    return false;
  if (!truth_of(value.attr("is_cuda")))
    refuse(index, "a tensor on the device", "one in host memory");
  args.add(address_of(py::object(value.attr("data_ptr")()), "data_ptr"));
  return true;
}

// Returns whether the value is a NumPy array with one structure. An array with
// one plain number may be meant as an address.
bool is_structure(PyObject* value) {
  if (!is_ndarray(value) || py::detail::array_proxy(value)->nd > 1)
    return false;
  const py::handle array(value);
  return !array.attr("dtype").attr("names").is_none() &&
         array.attr("size").cast<std::int64_t>() == 1;
}

}  // namespace

void add_argument(KernelArgs& args, PyObject* value, std::size_t index) {
  const py::handle object(value);
  if (object.is_none()) {
    args.add(static_cast<void*>(nullptr));
  } else if (PyLong_Check(value) != 0) {  // a bool too
    add_integer(args, value, index);
  } else if (PyFloat_CheckExact(value) != 0) {
    args.add(Scalar(PyFloat_AS_DOUBLE(value)));
  } else if (Py_TYPE(value) == array_type) {
    auto& array = object.cast<Array&>();
    if (array.is_element()) refuse_element("argument " + std::to_string(index));
    if (!array.runtime().is_cuda())
      refuse(index, "an array on the device", "one of the host backend");
    const Borrow borrow(array);
    borrow.wait();
    borrow.mark_exported();
    args.add(borrow.view());
  } else if (is_of(object, "numpy", "generic") || is_structure(value)) {
    add_numpy_scalar(args, object, index);
  } else if (PyComplex_Check(value) != 0) {
    const Py_complex number = PyComplex_AsCComplex(value);
    args.add_bytes(&number, sizeof number, "complex128");
  } else if (is_of(object, "_ctypes", "_SimpleCData") ||
             is_of(object, "_ctypes", "Structure") ||
             is_of(object, "_ctypes", "Union")) {
    add_bytes(
        args,
        py::bytes(py::reinterpret_steal<py::object>(PyBytes_FromObject(value))),
        "ctypes");
  } else if (!add_tensor(args, object, index)) {
    args.add(device_pointer(object, index));
  }
}

KernelArgs arguments_from(const py::object& values) {
  if (py::isinstance<KernelArgs>(values)) return values.cast<KernelArgs>();
  KernelArgs args;
  std::size_t index = 0;
  for (const py::handle value : items_of(values, "args"))
    add_argument(args, value.ptr(), index++);
  return args;
}

}  // namespace gpuos::python
