#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

#include "gpuos/export.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

/// Contains the bits of a short float: Float16, BFloat16, ...
#define GPUOS_BITS(with, name, text, bytes, ...)                          \
  struct name {                                                           \
    std::conditional_t<bytes == 1, std::uint8_t, std::uint16_t> bits = 0; \
    static constexpr DType kDType = DType::name;                          \
  };
GPUOS_SHORT_FLOATS(GPUOS_BITS, )
#undef GPUOS_BITS

/// Is an argument of a kernel, or a number that takes its parameter's type.
struct KernelArg {
  enum class Kind : std::uint8_t { Bytes, Pointer, Number };

  static constexpr std::size_t kInlineBytes = 16;

  Kind kind = Kind::Bytes;
  std::string type;  // for messages: "float32", "pointer", "struct"
  std::size_t bytes = 0;
  alignas(16) std::array<std::byte, kInlineBytes> small{};
  std::vector<std::byte> large{};  // used when `small` is too small
  Scalar number = 0;               // Kind::Number

  const void* data() const noexcept {
    return large.empty() ? small.data() : large.data();
  }
};

/// Stores the arguments of a launch at stable addresses.
///
/// Lifetime: memory that pointers name must live until the kernel is done.
class GPUOS_API KernelArgs {
 public:
  KernelArgs() = default;
  template <typename... T>
  static KernelArgs of(const T&... values) {
    KernelArgs args;
    (args.add(values), ...);
    return args;
  }

  /// Adds a number, pointer or struct by value, with the bytes of `T`.
  template <typename T>
    requires(std::is_trivially_copyable_v<T> && !std::same_as<T, TensorView> &&
             !std::same_as<T, Scalar>)
  KernelArgs& add(const T& value) {
    return add_bytes(&value, sizeof(T), type_of<T>(),
                     std::is_pointer_v<T> ? KernelArg::Kind::Pointer
                                          : KernelArg::Kind::Bytes);
  }
  /// Adds the address of the buffer.
  KernelArgs& add(const TensorView& view) { return add(view.data); }
  /// Adds a number without a width: it gets the type of the parameter.
  KernelArgs& add(Scalar number);
  KernelArgs& add_bytes(const void* data, std::size_t bytes, std::string type,
                        KernelArg::Kind kind = KernelArg::Kind::Bytes);

  std::size_t size() const noexcept { return values_.size(); }
  const std::deque<KernelArg>& values() const noexcept { return values_; }

 private:
  template <typename T>
  static std::string type_of() {
    if constexpr (std::is_pointer_v<T>) {
      return "pointer";
    } else if constexpr (std::same_as<T, bool>) {
      return "bool";
    } else if constexpr (std::is_integral_v<T>) {
      return (std::is_signed_v<T> ? "int" : "uint") +
             std::to_string(8 * sizeof(T));
    } else if constexpr (std::is_floating_point_v<T>) {
      return "float" + std::to_string(8 * sizeof(T));
    } else if constexpr (requires { DType{T::kDType}; }) {
      return std::string(name_of(T::kDType));
    } else {
      return "struct";
    }
  }

  std::deque<KernelArg> values_;
};

}  // namespace gpuos
