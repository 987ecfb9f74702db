#include "arrays/array_numpy.h"

#include <pybind11/numpy.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "arrays/array_shape.h"
#include "convert/dlpack_view.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

std::vector<py::ssize_t> numpy_shape(const TensorView& view) {
  return {view.shape.begin(), view.shape.begin() + view.dims};
}

// Returns an ndarray over memory that `base` keeps alive.
py::array ndarray_over(const TensorView& view, void* data, py::handle base) {
  return py::array(numpy_dtype(view.dtype), numpy_shape(view), strides_of(view),
                   data, base);
}

// Copies the bytes from the first to the last element. NumPy then takes the
// elements from the copy.
py::array copy_strided(const Borrow& borrow) {
  const TensorView& view = borrow.view();
  const ByteRange range = view.byte_range();
  py::array_t<std::uint8_t> bytes(
      static_cast<py::ssize_t>(range.high - range.low));
  std::uint8_t* low = bytes.mutable_data();
  borrow.copy_to_host(low);
  const auto first = reinterpret_cast<std::uint64_t>(view.data) - range.low;
  return ndarray_over(view, low + first, bytes).attr("copy")();
}

py::array copy_out(Array& array) {
  if (Array* source = array.element_source()) {
    const Borrow borrow(*source);
    py::array copy(numpy_dtype(borrow.view().dtype),
                   numpy_shape(borrow.view()));
    borrow.copy_submitted(copy.mutable_data());
    return copy;
  }
  const Borrow borrow(array);
  const TensorView& view = borrow.view();
  if (!view.is_contiguous()) return copy_strided(borrow);
  py::array copy(numpy_dtype(view.dtype), numpy_shape(view));
  borrow.copy_to_host(copy.mutable_data());
  return copy;
}

py::array view_out(py::handle self) {
  auto& array = self.cast<Array&>();
  const Borrow borrow(array);
  const TensorView& view = borrow.view();
  if (array.runtime().is_cuda()) {
    throw InvalidArgument(
        "numpy: expected copy=True for an array on the device, got "
        "copy=False");
  }
  borrow.mark_exported();
  borrow.wait();
  return ndarray_over(view, view.data, self);
}

// Returns null if NumPy's error stands.
py::object ndarray_by_dlpack(PyObject* source) {
  const MemoryKind memory = memory_of(source);
  if (!memory.is_known || memory.is_cuda) return {};
  const ForeignView foreign = view_dlpack(source, memory, {"array", 0});
  return ndarray_over(foreign.view, foreign.view.data, foreign.keep);
}

}  // namespace

py::array as_ndarray(const py::object& source, const py::object& dtype) {
  const py::object make = python_module("numpy").attr("asarray");
  try {
    return make(source, dtype);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    const py::object found = ndarray_by_dlpack(source.ptr());
    if (!found) throw;
    return make(found, dtype);
  }
}

py::array to_numpy(py::handle self, bool copy) {
  return copy ? copy_out(self.cast<Array&>()) : view_out(self);
}

py::array bytes_of(py::handle self) {
  auto& array = self.cast<Array&>();
  const Borrow borrow(array);
  if (!borrow.view().is_contiguous()) return bytes_of(self.attr("copy")());
  const auto size = static_cast<py::ssize_t>(array.bytes());
  if (array.runtime().is_cuda()) {
    py::array_t<std::uint8_t> bytes(size);
    borrow.copy_to_host(bytes.mutable_data());
    return bytes;
  }
  borrow.mark_exported();
  borrow.wait();
  py::array bytes(py::dtype::of<std::uint8_t>(), {size}, {}, borrow.view().data,
                  self);
  bytes.attr("setflags")(py::arg("write") = false);
  return bytes;
}

void set_bytes(Array& array, const py::object& source) {
  const Borrow borrow(array);
  const py::buffer_info given = py::buffer(source).request();
  const auto bytes = static_cast<std::size_t>(given.size * given.itemsize);
  if (bytes != array.bytes())
    throw InvalidArgument("unpickle: expected " +
                          std::to_string(array.bytes()) + " bytes, got " +
                          std::to_string(bytes));
  borrow.copy_from_host(given.ptr);
}

py::object to_array(py::handle self, const py::object& dtype,
                    const py::object& copy) {
  auto& array = self.cast<Array&>();
  const bool must_copy = !copy.is_none() && truth_of(copy);
  const bool may_copy = copy.is_none() || must_copy;
  const bool copies = must_copy || (may_copy && array.runtime().is_cuda());
  py::object made = to_numpy(self, copies);
  if (dtype.is_none()) return made;
  return made.attr("astype")(dtype, py::arg("copy") = false);
}

std::pair<std::uintptr_t, bool> settled_memory(Array& array) {
  const Borrow borrow(array);
  borrow.mark_exported();
  borrow.wait();
  return {reinterpret_cast<std::uintptr_t>(borrow.view().data),
          borrow.view().is_contiguous()};
}

void copy_from(Array& array, const py::object& source) {
  if (array.is_element()) refuse_element("copy_from");
  const Borrow borrow(array);
  const TensorView& to = borrow.view();
  const auto from =
      python_module("numpy")
          .attr("ascontiguousarray")(as_ndarray(source, py::none()))
          .cast<py::array>();
  if (dtype_from_numpy(from.dtype().ptr()) != to.dtype) {
    throw InvalidArgument("copy_from: expected dtype " +
                          std::string(name_of(to.dtype)) + ", got " +
                          dtype_text(from.dtype()));
  }
  // ascontiguousarray() gives a number one axis.
  const bool is_number = to.dims == 0 && from.size() == 1;
  const py::object shape = from.attr("shape");
  if (!is_number && !shape.equal(shape_of(to))) {
    throw InvalidArgument("copy_from: expected shape " + shape_text(to) +
                          ", got " + shown(shape));
  }
  borrow.copy_from_host(from.data());
}

namespace {

dlpack::DlpackDevice device_of(const Array& array) {
  const RuntimeObject& runtime = array.runtime();
  if (!runtime.is_cuda()) return {dlpack::kCpu, 0};
  return {dlpack::kCuda, runtime.core().options().device};
}

// PyTorch ends the process for negative strides.
TensorView without_negative_strides(const TensorView& view) {
  TensorView same = view;
  if (view.has_strides)
    for (std::size_t axis = 0; axis < view.dims; ++axis) {
      if (view.strides[axis] >= 0) continue;
      if (view.shape[axis] > 1) {
        throw py::buffer_error(
            "dlpack: expected no negative strides, which not every library "
            "takes, got " +
            to_string(view) + "; x.copy() has none");
      }
      same.strides[axis] = -view.strides[axis];
    }
  return same;
}

// Returns a capsule. Its destructor runs the deleter unless a library consumed
// the capsule.
template <typename Producer>
py::object capsule_of(Producer* producer, const char* name) {
  PyObject* capsule = PyCapsule_New(producer, name, [](PyObject* capsule) {
    const char* name = PyCapsule_GetName(capsule);
    if (name != kCapsule && name != kVersionedCapsule) return;
    auto* own = static_cast<Producer*>(PyCapsule_GetPointer(capsule, name));
    own->deleter(own);
  });
  if (capsule == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

py::object to_dlpack(Array& array, bool is_versioned, std::uint64_t flags) {
  const Borrow borrow(array);
  borrow.mark_exported();
  borrow.wait();
  const TensorView view = without_negative_strides(borrow.view());
  const dlpack::DlpackDevice device = device_of(array);
  // The buffer is the runtime's memory, so it is freed first.
  auto keep =
      std::make_shared<std::pair<std::shared_ptr<RuntimeObject>, Buffer>>(
          array.runtime().shared_from_this(), borrow.buffer());
  if (!is_versioned)
    return capsule_of(dlpack::share_unversioned(view, device, std::move(keep)),
                      kCapsule);
  auto* shared = dlpack::share(view, device, std::move(keep));
  shared->flags = flags;
  return capsule_of(shared, kVersionedCapsule);
}

py::tuple dlpack_device(const Array& array) {
  const dlpack::DlpackDevice device = device_of(array);
  return py::make_tuple(device.type, device.id);
}

}  // namespace gpuos::python
