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
    check(api_.nvJitLinkAddData(
        handle_, object.is_ptx ? NVJITLINK_INPUT_PTX : NVJITLINK_INPUT_CUBIN,
        object.binary.data(), object.binary.size(), object.name.c_str()));
  }

  std::string finish() {
    check(api_.nvJitLinkComplete(handle_));
    std::size_t bytes = 0;
    check(api_.nvJitLinkGetLinkedCubinSize(handle_, &bytes));
    std::string cubin(bytes, '\0');
    check(api_.nvJitLinkGetLinkedCubin(handle_, cubin.data()));
    return cubin;
  }

 private:
  void check(nvJitLinkResult result) const {
    if (result == NVJITLINK_SUCCESS) return;
    const std::string text = log();
    throw CompileError(
        concat("link: ", text.empty() ? concat("nvJitLink error ", result)
                                      : with_demangled_names(
                                            text.substr(0, text.find('\n')))),
        text);
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

std::string link_objects(const Nvrtc& api, std::span<const Object> objects,
                         const Target& target, std::uint32_t max_registers) {
  if (const NvJitLink* linker = try_nvjitlink(api.major, api.minor)) {
    try {
      return link_by_nvjitlink(*linker, objects, target, max_registers);
    } catch (const CompileError& error) {
      // A device that is newer than nvJitLink too: only the driver knows it.
      if (!target.is_ptx) throw;
      if (auto cubin = link_by_driver(objects, target, max_registers))
        return *std::move(cubin);
      throw CompileError(
          concat(error.what(), " (NVRTC ", api.major, ".", api.minor,
                 " gave PTX because it is older than ", target.link_arch,
                 "; a newer one: pip install -U gpuos[cuda])"),
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
