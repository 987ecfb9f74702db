#include "gpuos/diagnose.h"

#include <string_view>

#include "base/concat.h"
#include "base/embedded.h"
#include "base/environment.h"
#include "cuda/worker_image.h"
#include "driver/check.h"
#include "driver/driver_api.h"
#include "gpuos/cache.h"
#include "gpuos/error.h"
#include "host/host_compiler.h"
#include "jit/findings.h"
#include "jit/header_packages.h"

namespace gpuos {
namespace {

using jit::found;
using jit::missing;

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
  jit::add_findings(findings);
  findings.push_back(find_compiler());
  findings.push_back(find_worker_image());
  add_cache(findings);
  return findings;
}

}  // namespace gpuos
