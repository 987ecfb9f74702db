// A tensor's fields as they lie in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace gpuos::bridge {

using at::Tensor;

/// PyTorch's own ways to these look at each tensor for what a subclass may have
/// changed. A tensor's kind says that nothing was.
struct Fields : c10::TensorImpl {
  /// dtype, device and flags, whether it is contiguous and whether a subclass
  /// answers for its sizes among them: what lies between the number of elements
  /// and the keys.
  static std::uint64_t kind_of(const Tensor& tensor) noexcept {
    std::uint64_t kind = 0;
    if (kind_bytes() == sizeof(kind))
      std::memcpy(&kind,
                  reinterpret_cast<const char*>(tensor.unsafeGetTensorImpl()) +
                      offsetof(Fields, data_type_),
                  sizeof(kind));
    return kind;
  }
  /// Whether kind_of() is all of that, as in the versions that were tested.
  static constexpr bool has_kinds() {
    return kind_bytes() == sizeof(std::uint64_t);
  }
  /// Whether a subclass answers for its sizes.
  static bool has_own_sizes(const Tensor& tensor) {
    return (tensor.unsafeGetTensorImpl()->*(&Fields::matches_policy))(
        SizesStridesPolicy::CustomStrides);
  }

  static const c10::impl::SizesAndStrides& layout_of(const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->*(&Fields::sizes_and_strides_);
  }
  static std::int64_t numel_of(const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->*(&Fields::numel_);
  }
  static std::int64_t offset_of(const Tensor& tensor) {
    return tensor.unsafeGetTensorImpl()->*(&Fields::storage_offset_);
  }

 private:
  static constexpr std::size_t kind_bytes() {
    return offsetof(Fields, key_set_) - offsetof(Fields, data_type_);
  }
};

}  // namespace gpuos::bridge
