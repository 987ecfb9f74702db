#include "gpuos/dtype.h"

#include "gpuos/export.h"

namespace gpuos {
namespace {

struct Names {
  std::string_view python;
  std::string_view cpp;
  std::string_view package;
};

#define GPUOS_ROW(name, text, bytes, kind, Stored, type, dlpack, package, ...) \
  {#text, #Stored, #package},
constexpr Names kNames[] = {GPUOS_DTYPES(GPUOS_ROW)};
#undef GPUOS_ROW

const Names& names_of(DType dtype) noexcept {
  return kNames[static_cast<std::size_t>(dtype)];
}

}  // namespace

GPUOS_API std::string_view name_of(DType dtype) noexcept {
  return names_of(dtype).python;
}

GPUOS_API std::string_view cpp_name_of(DType dtype) noexcept {
  return names_of(dtype).cpp;
}

GPUOS_API std::string_view package_of(DType dtype) noexcept {
  return names_of(dtype).package;
}

GPUOS_API std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (kNames[i].python == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace gpuos
