#include "jit/missing_names.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/c_text.h"
#include "base/concat.h"
#include "base/embedded.h"

namespace gpuos::jit {
namespace {

// Holds a name that NVRTC did not find.
struct MissingName {
  std::string_view name;
  bool is_of_std = false;
};

// Returns the next missing name. Cuts `log` after it.
std::optional<MissingName> next_missing(std::string_view& log) {
  constexpr std::string_view kUndefined = "identifier \"";
  constexpr std::string_view kNoMember = "namespace \"std\" has no member \"";
  const std::size_t undefined = log.find(kUndefined);
  const std::size_t member = log.find(kNoMember);
  if (undefined == log.npos && member == log.npos) return std::nullopt;
  const bool is_of_std = member < undefined;
  log.remove_prefix(is_of_std ? member + kNoMember.size()
                              : undefined + kUndefined.size());
  const std::string_view name = log.substr(0, log.find('"'));
  log.remove_prefix(name.size());
  return MissingName{name, is_of_std};
}

// Returns the name at the caret, if NVRTC says that it is no namespace.
std::string_view missing_namespace(const FirstError& error) {
  if (error.line.find("must be a class or namespace name") == error.line.npos &&
      error.line.find("must be a namespace name") == error.line.npos)
    return "";
  const std::string_view line(error.place.excerpt);
  const auto at = static_cast<std::size_t>(error.place.column - 1);
  if (error.place.column < 1 || at >= line.size()) return "";
  return line.substr(at, end_of_name(line, at) - at);
}

std::string_view embedded_text(std::string_view name) {
  const auto file =
      std::ranges::find(embedded_files(), name, &EmbeddedFile::name);
  return file == embedded_files().end() ? "" : file->text;
}

bool is_usual(std::string_view name) {
  return has_name(embedded_text("standard_integers.h"), name) ||
         has_name(embedded_text("standard_constants.h"), name);
}

struct Hint {
  std::string_view name;
  std::string_view text;
};
constexpr std::string_view kHalfHint =
    "add #include <cuda_fp16.h>, or take gpuos::F16 of \"gpuos/half.h\"";
constexpr std::string_view kBfloatHint =
    "add #include <cuda_bf16.h>, or take gpuos::Bf16 of \"gpuos/bfloat16.h\"";
constexpr std::string_view kRuntimeHint =
    "known where one of CUDA's headers is included: add #include "
    "<cuda_runtime.h>";
constexpr std::array<Hint, 19> kHints{{
    {"half", kHalfHint},
    {"__half", kHalfHint},
    {"half2", kHalfHint},
    {"__half2", kHalfHint},
    {"nv_bfloat16", kBfloatHint},
    {"__nv_bfloat16", kBfloatHint},
    {"nv_bfloat162", kBfloatHint},
    {"__nv_bfloat162", kBfloatHint},
    {"cudaError_t", kRuntimeHint},
    {"cudaStream_t", kRuntimeHint},
    {"cudaTextureObject_t", kRuntimeHint},
    {"cudaSurfaceObject_t", kRuntimeHint},
    {"curandState", "add #include <curand_kernel.h>"},
    {"cooperative_groups", "add #include <cooperative_groups.h>"},
    {"nvcuda", "add #include <mma.h>"},
    {"cub", "add #include <cub/cub.cuh>"},
    {"thrust", "add the header of CCCL that has it, as <thrust/complex.h>"},
    {"cuda", "add the header of CCCL that has it, as <cuda/std/complex>"},
    {"complex",
     "take gpuos::C64 or C128 of \"gpuos/complex.h\", cuComplex of "
     "<cuComplex.h>, or cuda::std::complex of <cuda/std/complex>"},
}};
constexpr std::array<Hint, 6> kStdHints{{
    {"min", "CUDA C++ has min() without std::"},
    {"max", "CUDA C++ has max() without std::"},
    {"printf", "CUDA C++ has printf() without std::"},
    {"memcpy", "CUDA C++ has memcpy() without std::"},
    {"memset", "CUDA C++ has memset() without std::"},
    {"cout", "there are no streams; printf() needs no header"},
}};

std::string_view text_for(std::span<const Hint> hints, std::string_view name) {
  const auto hint = std::ranges::find(hints, name, &Hint::name);
  return hint == hints.end() ? "" : hint->text;
}

std::string hint_of_std(std::string_view name) {
  if (const auto text = text_for(kStdHints, name); !text.empty())
    return std::string(text);
  constexpr std::array<Hint, 5> kFiles{{
      {"standard_math.h", "<cmath>"},
      {"standard_integers.h", "<cstdint>"},
      {"standard_limits.h", "<limits>"},
      {"standard_traits.h", "<type_traits>"},
      {"standard_types.h", "<type_traits>"},
  }};
  std::string_view stem = name;
  if (stem.ends_with("_v") || stem.ends_with("_t")) stem.remove_suffix(2);
  for (const Hint& file : kFiles) {
    const std::string_view text = embedded_text(file.name);
    if (has_name(text, name) || has_name(text, stem))
      return concat("add #include ", file.text);
  }
  return "NVRTC has no standard library; CCCL has its own as cuda::std, in "
         "<cuda/std/...>";
}

std::string hint_of(const MissingName& missing) {
  if (missing.is_of_std) return hint_of_std(missing.name);
  if (missing.name.starts_with("FLT_") || missing.name.starts_with("DBL_"))
    return "add #include <cfloat>";
  return std::string(text_for(kHints, missing.name));
}

}  // namespace

bool misses_usual_name(std::string_view log) {
  while (const auto missing = next_missing(log)) {
    if (is_usual(missing->name)) return true;
  }
  return false;
}

std::string name_hint(const FirstError& error, std::string_view log) {
  if (error.line.find("device-side kernel launch") != error.line.npos)
    return "kernels of a module launch none; launch each from the host";
  MissingName missing{missing_namespace(error)};
  std::string hint = hint_of(missing);
  while (hint.empty()) {
    const auto next = next_missing(log);
    if (!next) return "";
    missing = *next;
    hint = hint_of(missing);
  }
  return concat(missing.is_of_std ? "std::" : "", missing.name, ": ", hint);
}

}  // namespace gpuos::jit
