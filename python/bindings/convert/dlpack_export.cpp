#include "arrays/array_numpy.h"

#include <array>
#include <memory>

#include "convert/dlpack.h"
#include "module/pybind_objects.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

dlpack::DlpackDevice device_of(const Array& array) {
  const RuntimeObject& runtime = array.runtime();
  if (!runtime.is_cuda()) return {dlpack::kCpu, 0};
  return {dlpack::kCuda, runtime.core().options().device};
}

// A capsule owns this. The runtime is freed last, because the buffer is its
// memory.
template <typename ManagedTensor>
struct Owner {
  std::shared_ptr<RuntimeObject> runtime;
  Buffer buffer;
  std::array<std::int64_t, kMaxDims> shape{};
  std::array<std::int64_t, kMaxDims> strides{};
  ManagedTensor managed{};
};

template <typename ManagedTensor>
void delete_owner(ManagedTensor* managed) {
  delete static_cast<Owner<ManagedTensor>*>(managed->context);
}

// Runs when a capsule is destroyed that no library consumed.
template <typename ManagedTensor>
void delete_capsule(PyObject* capsule, const char* name) {
  if (PyCapsule_IsValid(capsule, name) == 0) return;
  auto* managed =
      static_cast<ManagedTensor*>(PyCapsule_GetPointer(capsule, name));
  managed->deleter(managed);
}

// Returns the strides. PyTorch ends the process for negative ones.
std::array<std::int64_t, kMaxDims> strides_of(const TensorView& view) {
  std::array<std::int64_t, kMaxDims> strides = view.element_strides();
  for (std::size_t axis = 0; axis < view.dims; ++axis) {
    if (strides[axis] >= 0) continue;
    if (view.shape[axis] > 1) {
      throw py::buffer_error(
          "dlpack: expected no negative strides, which not every library "
          "takes, got " +
          to_string(view) + "; x.copy() has none");
    }
    strides[axis] = -strides[axis];
  }
  return strides;
}

template <typename ManagedTensor>
ManagedTensor* make_owner(const Array& array, const Borrow& borrow) {
  const TensorView& view = borrow.view();
  auto owner = std::make_unique<Owner<ManagedTensor>>();
  owner->runtime = array.runtime().shared_from_this();
  owner->buffer = borrow.buffer();
  owner->shape = view.shape;
  owner->strides = strides_of(view);
  owner->managed.tensor = {view.data,
                           device_of(array),
                           view.dims,
                           dlpack_type_of(view.dtype),
                           owner->shape.data(),
                           owner->strides.data(),
                           0};
  owner->managed.context = owner.get();
  owner->managed.deleter = delete_owner<ManagedTensor>;
  return &owner.release()->managed;
}

py::object make_capsule(void* pointer, const char* name,
                        PyCapsule_Destructor destructor) {
  PyObject* capsule = PyCapsule_New(pointer, name, destructor);
  if (capsule == nullptr) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(capsule);
}

}  // namespace

dlpack::DataType dlpack_type_of(DType dtype) noexcept {
#define GPUOS_CODE(name, text, bytes, kind, Stored, type, dlpack, ...) dlpack,
  constexpr std::uint8_t kCodes[] = {GPUOS_DTYPES(GPUOS_CODE)};
#undef GPUOS_CODE
  return {kCodes[static_cast<std::size_t>(dtype)],
          static_cast<std::uint8_t>(size_of(dtype) * 8), 1};
}

py::object to_dlpack(Array& array, bool is_versioned, std::uint64_t flags) {
  const Borrow borrow(array);
  borrow.mark_exported();
  borrow.wait();
  if (!is_versioned) {
    return make_capsule(make_owner<dlpack::Managed>(array, borrow),
                        dlpack::kCapsule, [](PyObject* capsule) {
                          delete_capsule<dlpack::Managed>(capsule,
                                                          dlpack::kCapsule);
                        });
  }
  auto* managed = make_owner<dlpack::ManagedVersioned>(array, borrow);
  managed->major = dlpack::kMajorVersion;
  managed->minor = dlpack::kMinorVersion;
  managed->flags = flags;
  return make_capsule(managed, dlpack::kVersionedCapsule,
                      [](PyObject* capsule) {
                        delete_capsule<dlpack::ManagedVersioned>(
                            capsule, dlpack::kVersionedCapsule);
                      });
}

py::tuple dlpack_device(const Array& array) {
  const dlpack::DlpackDevice device = device_of(array);
  return py::make_tuple(device.type, device.id);
}

}  // namespace gpuos::python
