#include "jit/driver_linker.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "base/concat.h"
#include "base/process_exit.h"
#include "driver/check.h"
#include "driver/driver_api.h"
#include "gpuos/error.h"
#include "jit/shared_library.h"

namespace gpuos::jit {
namespace {

using namespace cu;  // NOLINT(google-build-using-namespace): driver names

// Makes a device's context current for a while. cuLink needs a context, and the
// thread that defines an operator may not have one.
class ContextScope {
 public:
  explicit ContextScope(CUdevice device) : device_(device) {
    CUcontext context = nullptr;
    GPUOS_CUDA_CHECK(driver().cuDevicePrimaryCtxRetain(&context, device));
    const CUresult pushed = driver().cuCtxPushCurrent(context);
    if (pushed != CUDA_SUCCESS) driver().cuDevicePrimaryCtxRelease(device);
    check_cuda(pushed, "cuCtxPushCurrent(context)");
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  ~ContextScope() {
    CUcontext context = nullptr;
    driver().cuCtxPopCurrent(&context);
    driver().cuDevicePrimaryCtxRelease(device_);
  }

 private:
  const HoldsExit hold_{HoldsExit::For::kCompiler};
  CUdevice device_;
};

int attribute(const DriverApi& api, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return api.cuDeviceGetAttribute(&value, which, device) == CUDA_SUCCESS ? value
                                                                         : 0;
}

// Finds a device that runs "sm_86" code.
bool find_device(const DriverApi& api, const std::string& arch,
                 CUdevice& device) {
  int count = 0;
  if (api.cuInit(0) != CUDA_SUCCESS ||
      api.cuDeviceGetCount(&count) != CUDA_SUCCESS)
    return false;
  const int wanted = static_cast<int>(
      std::strtol(arch.c_str() + sizeof("sm_") - 1, nullptr, 10));
  for (int ordinal = 0; ordinal < count; ++ordinal) {
    if (api.cuDeviceGet(&device, ordinal) != CUDA_SUCCESS) continue;
    const int major =
        attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const int minor =
        attribute(api, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    if (major == wanted / 10 && minor >= wanted % 10) return true;
  }
  return false;
}

class DriverLink {
 public:
  explicit DriverLink(std::uint32_t max_registers) {
    std::array options{CU_JIT_ERROR_LOG_BUFFER,
                       CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                       CU_JIT_MAX_REGISTERS};
    std::array<void*, 3> values{
        log_.data(), reinterpret_cast<void*>(std::uintptr_t{log_.size()}),
        reinterpret_cast<void*>(std::uintptr_t{max_registers})};
    const unsigned int count = max_registers == 0 ? 2 : 3;
    GPUOS_CUDA_CHECK(
        driver().cuLinkCreate(count, options.data(), values.data(), &state_));
  }
  DriverLink(const DriverLink&) = delete;
  DriverLink& operator=(const DriverLink&) = delete;
  ~DriverLink() { driver().cuLinkDestroy(state_); }

  void add(const Object& object) {
    std::string data = object.binary;  // with a closing zero, for PTX
    check(driver().cuLinkAddData(
        state_, object.is_ptx ? CU_JIT_INPUT_PTX : CU_JIT_INPUT_CUBIN,
        data.data(), data.size() + (object.is_ptx ? 1 : 0), object.name.c_str(),
        0, nullptr, nullptr));
  }

  std::string finish() {
    void* image = nullptr;
    std::size_t bytes = 0;
    check(driver().cuLinkComplete(state_, &image, &bytes));
    return {static_cast<const char*>(image), bytes};
  }

 private:
  void check(CUresult result) const {
    if (result == CUDA_SUCCESS) return;
    const std::string log(log_.data());
    throw CompileError(concat("link: the driver failed with error ", result,
                              ": ", log.substr(0, log.find('\n'))),
                       log);
  }

  std::vector<char> log_ = std::vector<char>(16384);
  CUlinkState state_ = nullptr;
};

}  // namespace

std::string driver_linker_file() {
  if (try_driver() == nullptr) return "";
  // The link leads to a file whose name has the version.
  std::error_code error;
  const auto path = std::filesystem::canonical(driver_path(), error);
  return describe_file(error ? driver_path() : path.string());
}

std::optional<std::string> link_by_driver(std::span<const Object> objects,
                                          const Target& target,
                                          std::uint32_t max_registers) {
  const DriverApi* api = try_driver();
  CUdevice device = 0;
  if (api == nullptr || !find_device(*api, target.link_arch, device))
    return std::nullopt;
  const ContextScope scope(device);
  DriverLink link(max_registers);
  for (const Object& object : objects) link.add(object);
  return link.finish();
}

}  // namespace gpuos::jit
