#include "jit/linker.h"

#include <algorithm>
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
#include "jit/symbols.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/nvjitlink_api.h"
#include "jit/toolkit/shared_library.h"

namespace gpuos::jit {
namespace {

class Link {
 public:
  Link(const NvJitLink& api, const std::vector<std::string>& options)
      : api_(api) {
    refuse_at_exit();
    std::vector<const char*> pointers;
    for (const std::string& option : options)
      pointers.push_back(option.c_str());
    check(api.nvJitLinkCreate(&handle_,
                              static_cast<std::uint32_t>(pointers.size()),
                              pointers.data()));
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() {
    if (handle_ != nullptr) api_.nvJitLinkDestroy(&handle_);
  }

  void add(const Object& object) {
    const nvJitLinkResult result = api_.nvJitLinkAddData(
        handle_,
        object.is_lto   ? NVJITLINK_INPUT_LTOIR
        : object.is_ptx ? NVJITLINK_INPUT_PTX
                        : NVJITLINK_INPUT_CUBIN,
        object.binary.data(), object.binary.size(), object.name.c_str());
    if (result == NVJITLINK_SUCCESS) return;
    const std::string text = log();
    const std::string reason = too_new(text);
    if (!reason.empty())
      throw CompileError(concat(object.name, ": ", reason), text);
    fail(result, text);
  }

  std::string finish() {
    check(api_.nvJitLinkComplete(handle_));
    std::size_t bytes = 0;
    check(api_.nvJitLinkGetLinkedCubinSize(handle_, &bytes));
    std::string cubin(bytes, '\0');
    check(api_.nvJitLinkGetLinkedCubin(handle_, cubin.data()));
    return cubin;
  }

  std::string finish_as_ptx() {
    check(api_.nvJitLinkComplete(handle_));
    std::size_t bytes = 0;
    check(api_.nvJitLinkGetLinkedPtxSize(handle_, &bytes));
    std::string ptx(bytes, '\0');
    check(api_.nvJitLinkGetLinkedPtx(handle_, ptx.data()));
    return ptx.substr(0, ptx.find('\0'));
  }

 private:
  void check(nvJitLinkResult result) const {
    if (result != NVJITLINK_SUCCESS) fail(result, log());
  }

  [[noreturn]] static void fail(nvJitLinkResult result,
                                const std::string& text) {
    throw CompileError(
        concat("link: ", text.empty() ? concat("nvJitLink error ", result)
                                      : with_demangled_names(
                                            text.substr(0, text.find('\n')))),
        text);
  }

  // Returns the message for objects of newer compilers. It is empty for other
  // errors.
  std::string too_new(const std::string& text) const {
    const std::string ours =
        concat(" that nvJitLink ", api_.major, ".", api_.minor, " reads, got ");
    const std::string newer =
        concat("; install a newer one with: ", kNewerCompiler);
    constexpr std::string_view kVersion = "Unsupported .version ";
    constexpr std::string_view kKnown = "current version is '";
    const std::size_t at = text.find(kVersion);
    const std::size_t known = text.find(kKnown);
    const auto number = [&](std::size_t begin) {
      return text.substr(begin,
                         text.find_first_not_of("0123456789.", begin) - begin);
    };
    if (at != text.npos && known != text.npos)
      return concat("expected PTX of version ", number(known + kKnown.size()),
                    " or older", ours, "version ", number(at + kVersion.size()),
                    newer);
    if (text.find("newer version of nvJitLink") != text.npos)
      return concat("expected LTO-IR", ours,
                    "one of a newer compiler or other bytes", newer);
    return "";
  }

  std::string log() const {
    std::size_t bytes = 0;
    if (handle_ == nullptr ||
        api_.nvJitLinkGetErrorLogSize(handle_, &bytes) != NVJITLINK_SUCCESS ||
        bytes == 0)
      return "";
    std::string text(bytes, '\0');
    if (api_.nvJitLinkGetErrorLog(handle_, text.data()) != NVJITLINK_SUCCESS)
      return "";
    return text.substr(0, text.find('\0'));
  }

  const HoldsExit hold_{HoldsExit::For::kCompiler};
  const NvJitLink& api_;
  nvJitLinkHandle handle_ = nullptr;
};

std::string link_by_nvjitlink(const NvJitLink& api,
                              std::span<const Object> objects,
                              const Target& target,
                              std::uint32_t max_registers) {
  Link link(api,
            link_options(target, std::ranges::any_of(objects, &Object::is_ptx),
                         max_registers));
  for (const Object& object : objects) link.add(object);
  return link.finish();
}

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

std::vector<std::string> link_options(const Target& target, bool has_ptx,
                                      std::uint32_t max_registers) {
  std::vector<std::string> options{concat("-arch=", target.link_arch)};
  if (!has_ptx) return options;
  options.emplace_back("-Xptxas=--disable-optimizer-constants");
  if (max_registers != 0)
    options.push_back(concat("-maxrregcount=", max_registers));
  return options;
}

Object link_time_optimized(const Nvrtc& api, std::span<const Object> objects,
                           const Target& target) {
  const NvJitLink* linker = try_nvjitlink(api.major, api.minor);
  if (linker == nullptr)
    throw BackendUnavailable(concat(
        "nvjitlink: expected a linker for LTO-IR, got no libnvJitLink.so of "
        "version ",
        api.major, ".", api.minor, " or newer for NVRTC ", api.path,
        "; install it with: ", kInstallCompiler));
  Link link(*linker, {concat("-arch=", target.link_arch), "-lto", "-ptx"});
  for (const Object& object : objects) link.add(object);
  return {.name = objects.front().name,
          .binary = link.finish_as_ptx(),
          .is_ptx = true};
}

std::string link_objects(const Nvrtc& api, std::span<const Object> objects,
                         const Target& target, std::uint32_t max_registers) {
  if (const NvJitLink* linker = try_nvjitlink(api.major, api.minor)) {
    try {
      return link_by_nvjitlink(*linker, objects, target, max_registers);
    } catch (const CompileError& error) {
      // The device is newer than nvJitLink too, so only the driver knows it.
      if (!target.is_ptx) throw;
      if (auto cubin = link_by_driver(objects, target, max_registers))
        return *std::move(cubin);
      throw CompileError(
          concat(error.what(), " (NVRTC ", api.major, ".", api.minor,
                 " gave PTX because it is older than ", target.link_arch,
                 "; install a newer one with: ", kNewerCompiler, ")"),
          error.log());
    }
  }
  if (auto cubin = link_by_driver(objects, target, max_registers))
    return *std::move(cubin);
  throw BackendUnavailable(
      concat("nvjitlink: no libnvJitLink.so of version ", api.major, ".",
             api.minor, " or newer for NVRTC ", api.path,
             ", and no driver that could link instead; install it with: ",
             install_compiler(api.major)));
}

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
