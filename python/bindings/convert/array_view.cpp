#include "convert/array_view.h"

#include <pybind11/numpy.h>

#include <algorithm>
#include <utility>

#include "convert/dlpack_view.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

using NumPy = py::detail::npy_api;

PyTypeObject* ndarray_type() {
  return made_once([] { return NumPy::get().PyArray_Type_; });
}

TensorView view_ndarray(PyObject* object, Role role) {
  const auto* array = py::detail::array_proxy(object);
  const auto dtype = dtype_from_numpy(array->descr);
  if (!dtype) refuse(role, known_dtypes(), dtype_text(array->descr));
  TensorView view;
  view.dtype = *dtype;
  set_shape(view, role, array->nd, array->dimensions);
  if ((array->flags & NumPy::NPY_ARRAY_C_CONTIGUOUS_) == 0) [[unlikely]] {
    set_strides(view, role, array->strides,
                static_cast<std::int64_t>(size_of(*dtype)));
    // NumPy counts elements, but takes any strides of an array interface.
    check_reach(view, role);
  }
  view.data = array->data;
  view.read_only = (array->flags & NumPy::NPY_ARRAY_WRITEABLE_) == 0;
  return view;
}

// Returns an ndarray over the memory of an object that gives out host memory.
py::object as_ndarray(PyObject* object) {
  if (PyObject_CheckBuffer(object) == 0 &&
      !has_attribute(object, "__array_interface__"))
    return {};
  return python_module("numpy").attr("asarray")(py::handle(object));
}

// gpuos/interop.py reads the dict of the interface.
ForeignView view_cuda_interface(PyObject* object, Role role) {
  ForeignView foreign;
  foreign.keep = py::reinterpret_borrow<py::object>(object);
  const py::tuple given =
      python_module("gpuos.interop")
          .attr("cuda_interface")(foreign.keep, role.text());
  const py::object descriptor = py::dtype::from_args(given[0]);
  const auto dtype = dtype_from_numpy(descriptor.ptr());
  if (!dtype) refuse(role, known_dtypes(), dtype_text(descriptor));
  TensorView& view = foreign.view;
  view.dtype = *dtype;
  const auto shape = integers_of(given[1], "shape");
  set_shape(view, role, static_cast<std::int64_t>(shape.size()), shape.data());
  if (!given[2].is_none())
    set_strides(view, role, integers_of(given[2], "strides").data(),
                static_cast<std::int64_t>(size_of(*dtype)));
  view.data = address_of(given[3], "data");
  view.read_only = truth_of(given[4]);
  check_reach(view, role);
  return foreign;
}

constexpr char kDeviceMemory[] =
    "device memory (Runtime.array() copies host memory there)";

// Refuses an object. A caller that passes a number for an array means a
// parameter.
[[noreturn]] void refuse_no_array(Role role, const char* wanted,
                                  PyObject* object) {
  const bool is_number =
      PyFloat_Check(object) != 0 || PyLong_Check(object) != 0;
  throw WrongType(
      role.text() + ": expected " + wanted + ", got " + type_text(object) +
      (is_number && role.input >= 0
           ? "; a number is a parameter, which define() takes in params="
           : ""));
}

ForeignView view_on_cuda(PyObject* object, const RuntimeObject& runtime,
                         Role role) {
  if (is_ndarray(object))
    refuse(role, kDeviceMemory, "host memory: " + type_text(object));
  const int device = runtime.core().options().device;
  ForeignView quick = view_exchanged(object, {true, true, device}, role);
  if (quick.keep) return quick;
  const MemoryKind memory = memory_of(object);
  if (memory.is_known && !memory.is_cuda)
    refuse(role, kDeviceMemory, "host memory: " + type_text(object));
  if (memory.is_known && memory.device != device) {
    refuse(role, "memory of device " + std::to_string(device),
           "memory of device " + std::to_string(memory.device));
  }
  if (memory.is_cuda) return view_dlpack(object, memory, role);
  if (has_attribute(object, "__cuda_array_interface__"))
    return view_cuda_interface(object, role);
  refuse_no_array(role, "a gpuos.Array or an array on the device", object);
}

// Returns the object that keeps the memory of an ndarray in place. An ndarray
// over a mapping or a bytearray holds that object, but not its memory. With
// this result, closing or resizing it raises while a task is pending.
[[gnu::cold]] py::object owner_of(PyObject* ndarray, PyObject* base) {
  auto held = py::reinterpret_borrow<py::object>(ndarray);
  while (base != nullptr && is_ndarray(base))
    base = py::detail::array_proxy(base)->base;
  if (base == nullptr || PyObject_CheckBuffer(base) == 0) return held;
  PyObject* buffer = PyPickleBuffer_FromObject(base);
  if (buffer == nullptr) throw py::error_already_set();
  return py::make_tuple(std::move(held),
                        py::reinterpret_steal<py::object>(buffer));
}

// Copies arrays that are not aligned, as other processes send them and NumPy
// takes them. The copy reads at once, so pending writes come first.
[[gnu::cold]] ForeignView copy_aligned(PyObject* ndarray, const TensorView& odd,
                                       RuntimeObject& runtime, Role role) {
  const ByteRange range = odd.byte_range();
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  runtime.wait_for_memory(reinterpret_cast<const void*>(range.low),
                          range.high - range.low);
  py::object copy = python_module("numpy").attr("array")(
      py::handle(ndarray), py::arg("order") = "C");
  return {view_ndarray(copy.ptr(), role), std::move(copy)};
}

// Views an ndarray whose memory belongs to another object, so it may be
// anywhere. The function is not inlined, because other paths would then save
// more registers.
[[gnu::cold, gnu::noinline]] ForeignView view_part(PyObject* ndarray,
                                                   RuntimeObject& runtime,
                                                   Role role) {
  const TensorView view = view_ndarray(ndarray, role);
  const auto address = reinterpret_cast<std::uintptr_t>(view.data);
  // Sizes of elements are powers of two.
  if ((address & (size_of(view.dtype) - 1)) != 0 && role.input >= 0)
    return copy_aligned(ndarray, view, runtime, role);
  return {view, owner_of(ndarray, py::detail::array_proxy(ndarray)->base)};
}

[[gnu::cold, gnu::noinline]] void check_plain(PyObject* ndarray, Role role) {
  if (has_own_operations(ndarray))
    refuse(role, "an array that computes as NumPy's do",
           type_text(ndarray) +
               ", whose operations are its own; pass np.asarray(x), or "
               "x.filled(...) of a masked one");
}

ForeignView view_on_host(PyObject* object, RuntimeObject& runtime, Role role) {
  const bool is_plain = Py_TYPE(object) == ndarray_type();
  if (is_plain || is_ndarray(object)) {
    if (!is_plain) [[unlikely]]
      check_plain(object, role);
    if (py::detail::array_proxy(object)->base != nullptr) [[unlikely]]
      return view_part(object, runtime, role);
    return {view_ndarray(object, role),
            py::reinterpret_borrow<py::object>(object)};
  }
  ForeignView quick = view_exchanged(object, {true, false, 0}, role);
  if (quick.keep) return quick;
  const MemoryKind memory = memory_of(object);
  if (memory.is_cuda)
    refuse(role, "host memory", "device memory: " + type_text(object));
  if (memory.is_known) return view_dlpack(object, memory, role);
  py::object array = as_ndarray(object);
  if (array) return {view_ndarray(array.ptr(), role), std::move(array)};
  refuse_no_array(role, "a gpuos.Array or an array in host memory", object);
}

}  // namespace

ForeignView view_foreign(PyObject* object, RuntimeObject& runtime, Role role) {
  if (runtime.is_cuda()) return view_on_cuda(object, runtime, role);
  return view_on_host(object, runtime, role);
}

bool is_ndarray(PyObject* object) {
  return NumPy::get().PyArray_Check_(object);
}

bool has_own_operations(PyObject* object) {
  PyTypeObject* plain = ndarray_type();
  if (!is_ndarray(object) || Py_TYPE(object) == plain) return false;
  const py::handle type(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  const py::handle base(reinterpret_cast<PyObject*>(plain));
  constexpr char kUfunc[] = "__array_ufunc__";
  if (!type.attr(kUfunc).is(base.attr(kUfunc))) return true;
  constexpr char kPriority[] = "__array_priority__";
  const py::object priority = type.attr(kPriority);
  // The priority of an ndarray is 0. NumPy first asks the operand with a higher
  // one.
  return !priority.is(base.attr(kPriority)) && priority > py::float_(0.0);
}

Integers ndarray_integers(PyObject* object, const char* what) {
  const auto* array = py::detail::array_proxy(object);
  if (is_ndarray(object) && array->nd == 1 &&
      (array->flags & NumPy::NPY_ARRAY_C_CONTIGUOUS_) != 0) {
    const auto* d = py::detail::array_descriptor_proxy(array->descr);
    const bool is_native = d->byteorder == '=' || d->byteorder == '|';
    const bool is_integer = d->kind == 'i' || d->kind == 'u';
    const bool is_wide =
        py::reinterpret_borrow<py::dtype>(array->descr).itemsize() == 8;
    if (is_native && is_integer && is_wide)
      return {array->data, static_cast<std::size_t>(array->dimensions[0])};
  }
  throw InvalidArgument(
      std::string("submit_many: expected ") + what +
      " as a contiguous one-dimensional ndarray of int64 or uint64, got " +
      type_text(object));
}

}  // namespace gpuos::python
