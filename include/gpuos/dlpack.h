// The memory layout of DLPack 1.3, https://dmlc.github.io/dlpack/latest, and
// arrays of other libraries as views.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

/// Names the argument and the call in the text of an error.
struct Role {
  const char* call;
  int input;  // -1: the output
  GPUOS_API std::string text() const;
};

/// Throws: InvalidArgument, "add: input 0: expected <expected>, got <got>".
[[noreturn]] GPUOS_API void refuse(Role role, const std::string& expected,
                                   const std::string& got);

/// Returns "dtype float32, ... or complex64 in native byte order", for errors.
GPUOS_API const std::string& known_dtypes();

/// Sets the shape. Throws: InvalidArgument for an impossible number of
/// dimensions.
void set_shape(TensorView& view, Role role, std::int64_t dims,
               const auto* shape) {
  if (dims < 0 || dims > kMaxDims || (dims > 0 && shape == nullptr)) {
    refuse(role, "0 to " + std::to_string(kMaxDims) + " dimensions",
           std::to_string(dims) + (shape == nullptr ? " without sizes" : ""));
  }
  view.dims = static_cast<std::uint8_t>(dims);
  std::copy(shape, shape + dims, view.shape.begin());
}

/// Sets strides in units: `unit` is the distance of one element. Null is C
/// order. A view in C order without gaps gets none.
/// Throws: InvalidArgument for a stride that is no whole number of elements.
GPUOS_API void set_strides(TensorView& view, Role role,
                           const std::int64_t* strides, std::int64_t unit);

/// Checks what other code says of memory. Later code counts elements and bytes
/// without looking for overflow.
///
/// Throws: InvalidArgument for a negative size. Throws it also unless 63 bits
/// can count the elements and address their bytes.
GPUOS_API void check_reach(const TensorView& view, Role role);

/// Throws: InvalidArgument unless the view is in C order without gaps.
GPUOS_API void check_contiguous(const TensorView& view, Role role);

namespace dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kMinorVersion = 1;  // the first with float8
inline constexpr std::uint64_t kReadOnlyFlag = 1;
inline constexpr std::uint64_t kCopiedFlag = 2;

enum DeviceType : std::int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,
  kCudaManaged = 13,
};

struct DlpackDevice {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;  // see gpuos/dtype_list.h
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  DlpackDevice device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: C order
  std::uint64_t byte_offset;
};

struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};

struct ManagedVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

/// Names the memory of an array.
struct MemoryKind {
  bool is_known = false;
  bool is_cuda = false;
  int device = 0;
};

GPUOS_API MemoryKind memory_of(DlpackDevice device) noexcept;
/// Returns whether the device is the host, or the GPU of `wanted`.
GPUOS_API bool is_in(const MemoryKind& wanted, DlpackDevice device) noexcept;

/// Returns the view of a tensor, without an address for a part of a tensor that
/// has no memory. Throws: InvalidArgument for an unknown dtype and for what the
/// functions above refuse.
GPUOS_API TensorView view_of(const Tensor& tensor, Role role);

/// Returns a tensor of the memory of a view. It holds `keep` until its deleter
/// is called.
GPUOS_API ManagedVersioned* share(const TensorView& view, DlpackDevice device,
                                  std::shared_ptr<const void> keep);
/// Returns the tensor for consumers from before version 1.
GPUOS_API Managed* share_unversioned(const TensorView& view,
                                     DlpackDevice device,
                                     std::shared_ptr<const void> keep);

}  // namespace dlpack
}  // namespace gpuos
