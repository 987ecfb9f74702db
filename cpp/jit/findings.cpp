#include "jit/findings.h"

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/cuda_headers.h"
#include "jit/header_packages.h"
#include "jit/nvjitlink_api.h"
#include "jit/nvrtc_api.h"
#include "jit/shared_library.h"

namespace gpuos::jit {
namespace {

// The advice assumes this version if there is no NVRTC.
constexpr int kNewestMajor = 13;

Finding find_builtins(const Nvrtc& api) {
  const std::string folder = api.path.substr(0, api.path.rfind('/'));
  const std::string file = builtins_name(api);
  std::vector<std::string> searched{folder, "the system's library path"};
  if (api.builtins.empty())
    return missing("nvrtc builtins",
                   concat(file, " belongs next to ", api.path, "; ",
                          reinstall_nvrtc(api.major, api.minor)),
                   std::move(searched));
  return found("nvrtc builtins", concat(api.major, ".", api.minor),
               api.builtins, std::move(searched));
}

Finding find_nvjitlink(int major, int minor) {
  std::vector<std::string> searched = search_library("nvJitLink").places;
  if (const NvJitLink* api = try_nvjitlink(major, minor))
    return found("nvjitlink", concat(api->major, ".", api->minor), api->path,
                 std::move(searched));
  return missing(
      "nvjitlink",
      concat("the driver links instead, if there is one; install "
             "nvJitLink ",
             major, ".", minor, " or newer with: ", install_compiler(major)),
      std::move(searched));
}

std::string place_of(const BundledHeaders& bundled) {
  return bundled.is_unpacked
             ? bundled.folder
             : concat("inside NVRTC; unpacked at the first use to ",
                      bundled.folder);
}

Finding find_headers(std::string what, FoundHeader header,
                     const BundledHeaders& bundled, const std::string& install,
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

Finding find_bundled(const BundledHeaders& bundled) {
  if (!bundled.is_available)
    return missing("bundled headers",
                   concat("NVRTC 13.3 and newer bring headers of CUDA and CCCL "
                          "with them: ",
                          kInstallCompiler));
  if (!bundled.problem.empty())
    return missing("bundled headers",
                   concat("cannot be unpacked: ", bundled.problem));
  return found("bundled headers", bundled.version, place_of(bundled));
}

void add_headers(std::vector<Finding>& findings, const Nvrtc& api) {
  const HeaderSearch search = search_cuda_headers(api);
  const BundledHeaders bundled = find_bundled_headers(api);
  FoundHeader cuda = find_cuda_headers(search.dirs);
  FoundHeader cccl = find_cccl_headers(search.dirs);
  // The order is that of cuda_include_dirs().
  if (!bundled.is_available || !bundled.problem.empty()) {
    if (cuda.folder.empty()) cuda = find_cuda_headers(search.other_dirs);
    if (cccl.folder.empty()) cccl = find_cccl_headers(search.other_dirs);
  }
  findings.push_back(find_headers("cuda headers", std::move(cuda), bundled,
                                  install_cuda_headers(api.major),
                                  search.places));
  findings.push_back(find_headers("cccl headers", std::move(cccl), bundled,
                                  install_cccl_headers(api.major),
                                  search.places));
  findings.push_back(find_bundled(bundled));
}

}  // namespace

Finding missing(std::string what, std::string hint,
                std::vector<std::string> searched) {
  return {.what = std::move(what),
          .found = false,
          .version = {},
          .where = {},
          .hint = std::move(hint),
          .searched = std::move(searched)};
}

Finding found(std::string what, std::string version, std::string where,
              std::vector<std::string> searched) {
  return {.what = std::move(what),
          .found = true,
          .version = std::move(version),
          .where = std::move(where),
          .hint = {},
          .searched = std::move(searched)};
}

void add_findings(std::vector<Finding>& findings) {
  const std::vector<std::string> places = search_library("nvrtc").places;
  Nvrtc none;
  none.major = kNewestMajor;
  const Nvrtc* api = nullptr;
  try {
    api = &nvrtc();
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

}  // namespace gpuos::jit
