#include "jit/toolkit/target.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/toolkit/header_packages.h"

namespace gpuos::jit {
namespace {

constexpr std::string_view kReal = "sm_";
constexpr std::string_view kVirtual = "compute_";

std::string listed(const std::vector<int>& archs) {
  std::string text;
  for (const int arch : archs)
    text += concat(text.empty() ? "" : ", ", "sm_", arch);
  return text;
}

// Checks the architecture, because NVRTC refuses others without naming those
// that it knows.
void check_known(const Nvrtc& api, const std::string& text,
                 std::string_view digits) {
  int number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (std::ranges::find(api.archs, number) == api.archs.end())
    throw InvalidArgument(concat("arch: expected one that NVRTC ", api.major,
                                 ".", api.minor, " knows (", listed(api.archs),
                                 "), in JitOptions.arch or GPUOS_NVRTC_ARCH, "
                                 "got '",
                                 text, "'"));
}

Target from_override(const Nvrtc& api, const std::string& text,
                     int compute_capability) {
  std::string_view number = text;
  const bool is_ptx = number.starts_with(kVirtual);
  if (is_ptx) number.remove_prefix(kVirtual.size());
  if (number.starts_with(kReal)) number.remove_prefix(kReal.size());
  const auto digits = number.find_first_not_of("0123456789");
  const std::string_view suffix =
      digits == std::string_view::npos ? "" : number.substr(digits);
  if (number.empty() || digits == 0 ||
      !(suffix.empty() || suffix == "a" || suffix == "f")) {
    throw InvalidArgument(
        concat("arch: expected sm_NN, compute_NN "
               "or NN, such as sm_90, in JitOptions.arch or GPUOS_NVRTC_ARCH, "
               "got '",
               text, "'"));
  }
  check_known(api, text, number.substr(0, digits));
  const std::string real = concat(kReal, number);
  if (is_ptx)
    return {concat(kVirtual, number), true, concat(kReal, compute_capability)};
  return {real, false, real};
}

}  // namespace

Target choose_target(const Nvrtc& api, int compute_capability,
                     const std::string& override_arch) {
  if (!override_arch.empty())
    return from_override(api, override_arch, compute_capability);
  int best = 0;
  for (const int arch : api.archs) {
    if (arch <= compute_capability) best = std::max(best, arch);
  }
  if (best == 0) {
    throw BackendUnavailable(concat(
        "nvrtc: the device is sm_", compute_capability, ", but NVRTC ",
        api.major, ".", api.minor, " (", api.path, ") begins at sm_",
        api.archs.front(), "; NVRTC 12 begins earlier: ", kInstallCompiler12,
        ", and "
        "GPUOS_CUDA_LIBRARY_PATH names its folder if both are there"));
  }
  // This code does not use concat(), because each request that finds its module
  // in memory runs it.
  const std::string arch = std::to_string(best);
  // A device runs what was compiled for a lower minor version of its own major
  // version (CUDA Programming Guide, "Binary Compatibility").
  if (best / 10 == compute_capability / 10)
    return {"sm_" + arch, false, "sm_" + arch};
  return {"compute_" + arch, true, concat(kReal, compute_capability)};
}

}  // namespace gpuos::jit
