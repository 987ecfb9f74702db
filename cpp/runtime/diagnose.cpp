#include <string>
#include <string_view>
#include <vector>

#include "base/concat.h"
#include "base/config.h"
#include "base/embedded.h"
#include "cuda/worker_image.h"
#include "driver/check.h"
#include "driver/driver_api.h"
#include "gpuos/cache.h"
#include "gpuos/diagnose.h"
#include "gpuos/error.h"
#include "host/host_compiler.h"
#include "jit/headers/cuda_headers.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/nvjitlink_api.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/shared_library.h"

namespace gpuos {
namespace {

// The advice assumes this version if there is no NVRTC.
constexpr int kNewestMajor = 13;

Finding missing(std::string what, std::string hint,
                std::vector<std::string> searched = {}) {
  return {.what = std::move(what),
          .found = false,
          .version = {},
          .where = {},
          .hint = std::move(hint),
          .searched = std::move(searched)};
}

Finding found(std::string what, std::string version, std::string where,
              std::vector<std::string> searched = {}) {
  return {.what = std::move(what),
          .found = true,
          .version = std::move(version),
          .where = std::move(where),
          .hint = {},
          .searched = std::move(searched)};
}

Finding find_builtins(const jit::Nvrtc& api) {
  const std::string folder = api.path.substr(0, api.path.rfind('/'));
  const std::string file = jit::builtins_name(api);
  std::vector<std::string> searched{folder, "the system's library path"};
  if (api.builtins.empty())
    return missing("nvrtc builtins",
                   concat(file, " belongs next to ", api.path, "; ",
                          jit::reinstall_nvrtc(api.major, api.minor)),
                   std::move(searched));
  return found("nvrtc builtins", concat(api.major, ".", api.minor),
               api.builtins, std::move(searched));
}

Finding find_nvjitlink(int major, int minor) {
  std::vector<std::string> searched = jit::search_library("nvJitLink").places;
  if (const jit::NvJitLink* api = jit::try_nvjitlink(major, minor))
    return found("nvjitlink", concat(api->major, ".", api->minor), api->path,
                 std::move(searched));
  return missing("nvjitlink",
                 concat("the driver links instead, if there is one; install "
                        "nvJitLink ",
                        major, ".", minor,
                        " or newer with: ", jit::install_compiler(major)),
                 std::move(searched));
}

std::string place_of(const jit::BundledHeaders& bundled) {
  return bundled.is_unpacked
             ? bundled.folder
             : concat("inside NVRTC; unpacked at the first use to ",
                      bundled.folder);
}

Finding find_headers(std::string what, jit::FoundHeader header,
                     const jit::BundledHeaders& bundled,
                     const std::string& install,
                     const std::vector<std::string>& searched) {
  if (header.folder.empty() && bundled.is_available && bundled.problem.empty())
    header = {place_of(bundled), bundled.version};
  if (header.folder.empty())
    return missing(std::move(what),
                   concat("only for operators that include them; install them "
                          "with: ",
                          install),
                   searched);
  return found(std::move(what), std::move(header.version),
               std::move(header.folder), searched);
}

Finding find_bundled(const jit::BundledHeaders& bundled) {
  if (!bundled.is_available)
    return missing("bundled headers",
                   concat("NVRTC 13.3 and newer bring headers of CUDA and CCCL "
                          "with them: ",
                          jit::kInstallCompiler));
  if (!bundled.problem.empty())
    return missing("bundled headers",
                   concat("cannot be unpacked: ", bundled.problem));
  return found("bundled headers", bundled.version, place_of(bundled));
}

void add_headers(std::vector<Finding>& findings, const jit::Nvrtc& api) {
  const jit::HeaderSearch search = jit::search_cuda_headers(api);
  const jit::BundledHeaders bundled = jit::find_bundled_headers(api);
  jit::FoundHeader cuda = jit::find_cuda_headers(search.dirs);
  jit::FoundHeader cccl = jit::find_cccl_headers(search.dirs);
  // The order is that of cuda_include_dirs().
  if (!bundled.is_available || !bundled.problem.empty()) {
    if (cuda.folder.empty()) cuda = jit::find_cuda_headers(search.other_dirs);
    if (cccl.folder.empty()) cccl = jit::find_cccl_headers(search.other_dirs);
  }
  findings.push_back(find_headers("cuda headers", std::move(cuda), bundled,
                                  jit::install_cuda_headers(api.major),
                                  search.places));
  findings.push_back(find_headers("cccl headers", std::move(cccl), bundled,
                                  jit::install_cccl_headers(api.major),
                                  search.places));
  findings.push_back(find_bundled(bundled));
}

// Adds NVRTC, nvJitLink and the headers that operators may include.
void add_compilers(std::vector<Finding>& findings) {
  const std::vector<std::string> places = jit::search_library("nvrtc").places;
  jit::Nvrtc none;
  none.major = kNewestMajor;
  const jit::Nvrtc* api = nullptr;
  try {
    api = &jit::nvrtc();
  } catch (const BackendUnavailable& error) {
    findings.push_back(missing("nvrtc", error.what(), places));
    api = &none;
  }
  if (api != &none) {
    findings.push_back(
        found("nvrtc", concat(api->major, ".", api->minor), api->path, places));
    findings.push_back(find_builtins(*api));
  }
  findings.push_back(find_nvjitlink(api->major, api->minor));
  add_headers(findings, *api);
}

// CUDA's own way: 13020 is 13.2.
std::string version_text(int version) {
  return concat(version / 1000, ".", version % 1000 / 10);
}

Finding find_device(const cu::DriverApi& api, int ordinal) {
  const std::string what = concat("device ", ordinal);
  try {
    cu::CUdevice device = 0;
    GPUOS_CUDA_CHECK(api.cuDeviceGet(&device, ordinal));
    char name[256] = {};
    GPUOS_CUDA_CHECK(api.cuDeviceGetName(name, sizeof(name) - 1, device));
    int major = 0;
    int minor = 0;
    GPUOS_CUDA_CHECK(api.cuDeviceGetAttribute(
        &major, cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device));
    GPUOS_CUDA_CHECK(api.cuDeviceGetAttribute(
        &minor, cu::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device));
    std::size_t bytes = 0;
    GPUOS_CUDA_CHECK(api.cuDeviceTotalMem(&bytes, device));
    return found(what, concat("sm_", major, minor),
                 concat(name, ", ", bytes >> 20, " MiB"));
  } catch (const Error& error) {
    return missing(what, error.what());
  }
}

void add_driver(std::vector<Finding>& findings) {
  try {
    const cu::DriverApi& api = cu::driver();
    GPUOS_CUDA_CHECK(api.cuInit(0));
    int version = 0;
    GPUOS_CUDA_CHECK(api.cuDriverGetVersion(&version));
    findings.push_back(
        found("driver", version_text(version), cu::driver_path()));
    int count = 0;
    GPUOS_CUDA_CHECK(api.cuDeviceGetCount(&count));
    for (int ordinal = 0; ordinal < count; ++ordinal)
      findings.push_back(find_device(api, ordinal));
  } catch (const Error& error) {
    findings.push_back(missing("driver", error.what()));
  }
}

Finding find_compiler() {
  try {
    note_environment();
    const host::HostCompiler compiler = host::find_host_compiler();
    return found("compiler", host::version_of(compiler), compiler.path,
                 host::compiler_places());
  } catch (const Error& error) {
    return missing("compiler", error.what(), host::compiler_places());
  }
}

Finding find_worker_image() {
  const std::string_view image = embedded_worker_image();
  if (image.empty())
    return missing("worker image",
                   concat("this library was built without one; NVRTC compiles "
                          "the worker at first use: ",
                          jit::kInstallCompiler));
  std::string architectures;
  for (const std::string& name : cu::architectures_of(image))
    architectures += concat(architectures.empty() ? "" : ", ", name);
  return found("worker image", architectures, "embedded");
}

Finding find_level(std::string what, const CacheLevel& level) {
  if (!level.why_off.empty()) return missing(std::move(what), level.why_off);
  return found(
      std::move(what),
      concat(level.entries, level.entries == 1 ? " entry, " : " entries, ",
             level.bytes >> 10, " KiB", level.is_writable ? "" : ", read only"),
      level.folder);
}

void add_cache(std::vector<Finding>& findings) {
  const CacheInfo info = cache_info();
  findings.push_back(find_level("cache", info.own));
  if (!info.read_only.folder.empty())
    findings.push_back(find_level("read-only cache", info.read_only));
}

}  // namespace

std::vector<Finding> diagnose() {
  std::vector<Finding> findings;
  add_driver(findings);
  add_compilers(findings);
  findings.push_back(find_compiler());
  findings.push_back(find_worker_image());
  add_cache(findings);
  return findings;
}

}  // namespace gpuos
