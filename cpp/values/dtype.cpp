#include "gpuos/dtype.h"

#include <array>

namespace gpuos {
namespace {

struct Names {
  std::string_view numpy;
  std::string_view cpp;
};

constexpr std::array<Names, kDTypeCount> kNames{{
    {"float32", "float"},
    {"float64", "double"},
    {"int32", "int"},
    {"int64", "long long"},
    {"bool", "bool"},
    {"int8", "signed char"},
    {"uint8", "unsigned char"},
    {"int16", "short"},
    {"uint16", "unsigned short"},
    {"uint32", "unsigned int"},
    {"uint64", "unsigned long long"},
    {"float16", "gpuos::F16"},
    {"bfloat16", "gpuos::Bf16"},
    {"complex64", "gpuos::C64"},
}};

const Names& names_of(DType dtype) noexcept {
  return kNames[static_cast<std::size_t>(dtype)];
}

}  // namespace

std::string_view name_of(DType dtype) noexcept { return names_of(dtype).numpy; }

std::string_view cpp_name_of(DType dtype) noexcept {
  return names_of(dtype).cpp;
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kNames[i].numpy == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace gpuos
