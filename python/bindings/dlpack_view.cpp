#include "dlpack_view.h"

#include <cstdint>
#include <string>

#include "dlpack.h"
#include "dlpack_exchange.h"
#include "dlpack_export.h"
#include "has_attribute.h"
#include "numpy_dtype.h"
#include "pybind_objects.h"
#include "reading.h"
#include "view_checks.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

MemoryKind memory_at(int type, int device) noexcept {
  const bool is_cuda = type == dlpack::kCuda || type == dlpack::kCudaManaged;
  const bool is_host = type == dlpack::kCpu || type == dlpack::kCudaHost;
  return {is_cuda || is_host, is_cuda, device};
}

bool is_in(const MemoryKind& wanted, dlpack::Device device) noexcept {
  const MemoryKind found = memory_at(device.type, device.id);
  return found.is_known && found.is_cuda == wanted.is_cuda &&
         (!found.is_cuda || found.device == wanted.device);
}

DType dtype_from_dlpack(dlpack::DataType type, Role role) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const dlpack::DataType known = dlpack_type_of(dtype);
    if (type.code == known.code && type.bits == known.bits && type.lanes == 1)
      return dtype;
  }
  refuse(role, known_dtypes(),
         "DLPack type code " + std::to_string(type.code) + " of " +
             std::to_string(type.bits) + " bits");
}

void check_version(std::uint32_t major, Role role) {
  if (major == dlpack::kMajorVersion) return;
  refuse(role, "DLPack of version " + std::to_string(dlpack::kMajorVersion),
         "version " + std::to_string(major));
}

// Checks the device, because a producer may report another one with
// __dlpack_device__.
void check_place(const MemoryKind& wanted, dlpack::Device device, Role role) {
  if (is_in(wanted, device)) return;
  refuse(role, "memory on the device that __dlpack_device__ returns",
         "DLPack device type " + std::to_string(device.type) + ", number " +
             std::to_string(device.id));
}

TensorView view_tensor(const dlpack::Tensor& tensor, Role role) {
  TensorView view;
  view.dtype = dtype_from_dlpack(tensor.dtype, role);
  set_shape(view, role, tensor.ndim, tensor.shape);
  set_strides(view, role, tensor.strides, 1);
  view.data = static_cast<char*>(tensor.data) + tensor.byte_offset;
  // No memory is below this address. It is a part of a tensor without memory,
  // such as PyTorch's fake tensors.
  constexpr std::uintptr_t kLowestAddress = 1 << 16;
  if (reinterpret_cast<std::uintptr_t>(view.data) < kLowestAddress)
    view.data = nullptr;
  check_reach(view, role);
  return view;
}

bool is_true(PyObject* object, const char* method) {
  return has_attribute(object, method) &&
         truth_of(py::object(py::handle(object).attr(method)()));
}

// Refuses marked tensors. PyTorch's conj() and the imag of its result only mark
// a tensor, and DLPack does not tell. Such an imag has gaps or a single
// element.
void check_unmarked(PyObject* object, const TensorView& view, Role role) {
  const bool may_be_marked =
      view.has_strides || is_complex(view.dtype) || view.size() == 1;
  if (!may_be_marked) return;
  if (is_true(object, "is_conj") || is_true(object, "is_neg")) {
    refuse(role, "a tensor without pending conjugation or negation",
           "one with it; pass "
           "tensor.resolve_conj().resolve_neg()");
  }
}

py::object call_dlpack(PyObject* object, bool is_cuda) {
  const py::object method =
      py::reinterpret_borrow<py::object>(object).attr("__dlpack__");
  py::dict options;
  // -1 means no synchronisation, because the caller orders streams.
  if (is_cuda) options["stream"] = -1;
  try {
    return method(py::arg("max_version") = py::make_tuple(
                      dlpack::kMajorVersion, dlpack::kMinorVersion),
                  **options);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method(**options);  // a producer from before version 1
}

py::object dlpack_capsule(PyObject* object, bool is_cuda, Role role) {
  try {
    return call_dlpack(object, is_cuda);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_BufferError)) throw;
    refuse(role, "an array that DLPack can share",
           type_text(object) + ": " + shown(error.value()));
  }
}

}  // namespace

MemoryKind memory_of(PyObject* object) {
  if (!has_attribute(object, "__dlpack_device__")) return {};
  constexpr char kWhat[] = "__dlpack_device__";
  const py::object given =
      py::reinterpret_borrow<py::object>(object).attr(kWhat)();
  const py::tuple place = items_of(given, kWhat);
  if (place.size() != 2) refuse_type(kWhat, "two integers", given);
  return memory_at(integer_as<int>(place[0], kWhat),
                   integer_as<int>(place[1], kWhat));
}

ForeignView view_exchanged(PyObject* object, const MemoryKind& wanted,
                           Role role) {
  const bool is_written = role.input < 0;
  const Exchanged found(object, is_written);
  if (!found.is_valid() || !is_in(wanted, found.tensor().device)) return {};
  ForeignView foreign;
  foreign.view = view_tensor(found.tensor(), role);
  check_unmarked(object, foreign.view, role);
  foreign.view.read_only = found.is_read_only();
  foreign.keep = py::reinterpret_borrow<py::object>(object);
  return foreign;
}

ForeignView view_dlpack(PyObject* object, const MemoryKind& wanted, Role role) {
  ForeignView foreign;
  // No code consumes the capsule, so its destructor gives the memory back.
  foreign.keep = dlpack_capsule(object, wanted.is_cuda, role);
  PyObject* capsule = foreign.keep.ptr();
  if (PyCapsule_IsValid(capsule, dlpack::kVersionedCapsule) != 0) {
    const auto* managed = static_cast<dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule, dlpack::kVersionedCapsule));
    check_version(managed->major, role);
    check_place(wanted, managed->tensor.device, role);
    foreign.view = view_tensor(managed->tensor, role);
    check_unmarked(object, foreign.view, role);
    foreign.view.read_only = (managed->flags & dlpack::kReadOnlyFlag) != 0;
    return foreign;
  }
  const auto* managed = static_cast<dlpack::Managed*>(
      PyCapsule_GetPointer(capsule, dlpack::kCapsule));
  if (managed == nullptr) throw py::error_already_set();
  check_place(wanted, managed->tensor.device, role);
  foreign.view = view_tensor(managed->tensor, role);
  check_unmarked(object, foreign.view, role);
  return foreign;
}

}  // namespace gpuos::python
