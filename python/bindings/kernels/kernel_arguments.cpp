#include "kernels/kernel_arguments.h"

#include <pybind11/stl.h>

#include <string>
#include <utility>

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

void* dlpack_pointer(const py::object& capsule, std::size_t index) {
  const dlpack::Tensor* const tensor = dlpack_of(capsule.ptr()).tensor;
  if (tensor->device.type != dlpack::kCuda &&
      tensor->device.type != dlpack::kCudaManaged)
    refuse(index, "an array on the device", "one in other memory");
  return static_cast<char*>(tensor->data) + tensor->byte_offset;
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

// Adds what gpuos/interop.py makes of other values: bytes and their type, an
// address, or None for an array with DLPack.
void add_other(KernelArgs& args, const py::object& value, std::size_t index) {
  const py::object made =
      python_module("gpuos.interop").attr("kernel_value")(value, index);
  if (PyTuple_Check(made.ptr()) != 0) {
    const auto [bytes, type] = made.cast<std::pair<std::string, std::string>>();
    args.add_bytes(bytes.data(), bytes.size(), type);
  } else if (!made.is_none()) {
    args.add(address_of(made, "data"));
  } else {
    const MemoryKind memory = memory_of(value.ptr());
    if (!memory.is_known || !memory.is_cuda)
      refuse(index,
             "a number, a NumPy scalar, a ctypes object or an array on the "
             "device",
             (memory.is_known ? "host memory: " : "") + type_text(value));
    args.add(dlpack_pointer(value.attr("__dlpack__")(), index));
  }
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
  } else if (!add_tensor(args, object, index)) {
    add_other(args, py::reinterpret_borrow<py::object>(object), index);
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
