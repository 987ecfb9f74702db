#include "gpuos/dlpack.h"

#include <array>
#include <utility>

#include "gpuos/error.h"

namespace gpuos {

std::string Role::text() const {
  const std::string where = call;
  if (input < 0) return where + ": out";
  return where + ": input " + std::to_string(input);
}

void refuse(Role role, const std::string& expected, const std::string& got) {
  throw InvalidArgument(role.text() + ": expected " + expected + ", got " +
                        got);
}

const std::string& known_dtypes() {
  static const std::string text = [] {
    std::string all = "dtype ";
    for (std::size_t i = 0; i < kDTypeCount; ++i) {
      if (i > 0) all += i + 1 < kDTypeCount ? ", " : " or ";
      all += name_of(static_cast<DType>(i));
    }
    return all + " in native byte order";
  }();
  return text;
}

namespace {

bool is_c_ordered(const TensorView& view, const std::int64_t* strides,
                  std::int64_t unit) noexcept {
  std::int64_t expected = unit;
  for (std::size_t i = view.dims; i-- > 0;) {
    if (view.shape[i] == 0) return true;
    // The stride of an axis with one element does not matter.
    if (view.shape[i] > 1 && strides[i] != expected) return false;
    // check_reach() finds numbers that wrap here.
    static_cast<void>(
        __builtin_mul_overflow(expected, view.shape[i], &expected));
  }
  return true;
}

}  // namespace

void set_strides(TensorView& view, Role role, const std::int64_t* strides,
                 std::int64_t unit) {
  view.has_strides = strides != nullptr && !is_c_ordered(view, strides, unit);
  if (!view.has_strides) return;
  for (std::size_t i = 0; i < view.dims; ++i) {
    const bool is_used = view.shape[i] > 1;
    if (is_used && strides[i] % unit != 0) {
      refuse(role,
             "strides that are multiples of the element's " +
                 std::to_string(unit) + " bytes",
             std::to_string(strides[i]));
    }
    view.strides[i] = is_used ? strides[i] / unit : 0;
  }
}

namespace {

bool is_in_reach(const TensorView& view) noexcept {
  const auto itemsize = static_cast<std::int64_t>(size_of(view.dtype));
  std::int64_t bytes = itemsize;  // size of all elements, without axes of
                                  // extent 0
  std::int64_t span = itemsize;   // from the lowest byte to after the highest
  bool fits = true;
  for (std::size_t i = 0; i < view.dims; ++i) {
    const std::int64_t extent = view.shape[i];
    fits = fits && extent >= 0;
    if (extent <= 1) continue;
    fits = !__builtin_mul_overflow(bytes, extent, &bytes) && fits;
    if (!view.has_strides) continue;
    std::int64_t stride = 0;
    fits =
        !__builtin_mul_overflow(view.strides[i], itemsize, &stride) &&
        !__builtin_mul_overflow(stride, extent - 1, &stride) &&
        !__builtin_sub_overflow(span, stride < 0 ? stride : -stride, &span) &&
        fits;
  }
  if (!view.has_strides) span = bytes;
  const auto address = reinterpret_cast<std::uint64_t>(view.data);
  std::uint64_t end = 0;
  return fits && !__builtin_add_overflow(
                     address, static_cast<std::uint64_t>(span), &end);
}

}  // namespace

void check_reach(const TensorView& view, Role role) {
  if (is_in_reach(view)) [[likely]]
    return;
  refuse(role, "sizes of at least 0 and no more bytes than the address space",
         to_string(view));
}

void check_contiguous(const TensorView& view, Role role) {
  if (!view.is_contiguous())
    refuse(role, "a contiguous array in C order", to_string(view));
}

namespace dlpack {
namespace {

DataType type_of(DType dtype) noexcept {
#define GPUOS_CODE(name, text, bytes, kind, Stored, type, dlpack, ...) dlpack,
  constexpr std::uint8_t kCodes[] = {GPUOS_DTYPES(GPUOS_CODE)};
#undef GPUOS_CODE
  return {kCodes[static_cast<std::size_t>(dtype)],
          static_cast<std::uint8_t>(size_of(dtype) * 8), 1};
}

DType dtype_of(DataType type, Role role) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DataType known = type_of(dtype);
    if (type.code == known.code && type.bits == known.bits && type.lanes == 1)
      return dtype;
  }
  refuse(role, known_dtypes(),
         "DLPack type code " + std::to_string(type.code) + " of " +
             std::to_string(type.bits) + " bits");
}

// The tensor's consumer owns this. `keep` is freed last.
template <typename Producer>
struct Owner {
  std::shared_ptr<const void> keep;
  std::array<std::int64_t, kMaxDims> shape{};
  std::array<std::int64_t, kMaxDims> strides{};
  Producer producer{};
};

template <typename Producer>
Producer* make(const TensorView& view, DlpackDevice device,
               std::shared_ptr<const void> keep) {
  auto owner = std::make_unique<Owner<Producer>>();
  owner->keep = std::move(keep);
  owner->shape = view.shape;
  owner->strides = view.element_strides();
  owner->producer.tensor = {view.data,
                            device,
                            view.dims,
                            type_of(view.dtype),
                            owner->shape.data(),
                            owner->strides.data(),
                            0};
  owner->producer.context = owner.get();
  owner->producer.deleter = [](Producer* self) {
    delete static_cast<Owner<Producer>*>(self->context);
  };
  return &owner.release()->producer;
}

}  // namespace

MemoryKind memory_of(DlpackDevice device) noexcept {
  const bool is_cuda = device.type == kCuda || device.type == kCudaManaged;
  const bool is_host = device.type == kCpu || device.type == kCudaHost;
  return {is_cuda || is_host, is_cuda, device.id};
}

bool is_in(const MemoryKind& wanted, DlpackDevice device) noexcept {
  const MemoryKind found = memory_of(device);
  return found.is_known && found.is_cuda == wanted.is_cuda &&
         (!found.is_cuda || found.device == wanted.device);
}

TensorView view_of(const Tensor& tensor, Role role) {
  TensorView view;
  view.dtype = dtype_of(tensor.dtype, role);
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

ManagedVersioned* share(const TensorView& view, DlpackDevice device,
                        std::shared_ptr<const void> keep) {
  auto* made = make<ManagedVersioned>(view, device, std::move(keep));
  made->major = kMajorVersion;
  made->minor = kMinorVersion;
  return made;
}

Managed* share_unversioned(const TensorView& view, DlpackDevice device,
                           std::shared_ptr<const void> keep) {
  return make<Managed>(view, device, std::move(keep));
}

}  // namespace dlpack
}  // namespace gpuos
