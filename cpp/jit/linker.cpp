#include "jit/linker.h"

#include <algorithm>
#include <vector>

#include "base/concat.h"
#include "base/process_exit.h"
#include "gpuos/error.h"
#include "jit/driver_linker.h"
#include "jit/header_packages.h"
#include "jit/nvjitlink_api.h"
#include "jit/symbols.h"

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

}  // namespace gpuos::jit
