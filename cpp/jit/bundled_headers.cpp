#include "jit/bundled_headers.h"

#include <filesystem>
#include <system_error>

#include "base/concat.h"
#include "base/config.h"
#include "jit/cache_folder.h"
#include "jit/cache_settings.h"

namespace gpuos::jit {

BundledHeaders find_bundled_headers(const Nvrtc& api) {
  BundledHeaders headers;
  nvrtcBundledHeadersInfo info{};
  if (api.nvrtcGetBundledHeadersInfo == nullptr ||
      api.nvrtcInstallBundledHeaders == nullptr ||
      api.nvrtcGetBundledHeadersInfo(&info, nullptr) != NVRTC_SUCCESS ||
      info.available == 0)
    return headers;
  headers.is_available = true;
  headers.version = concat(info.major, ".", info.minor);
  const CacheSettings settings = cache_settings(config());
  if (settings.folder.empty()) {
    headers.problem = settings.why_off;
    return headers;
  }
  headers.folder = concat(settings.folder, "/headers-", headers.version);
  // NVRTC writes it when everything else is there.
  std::error_code ignored;
  headers.is_unpacked = std::filesystem::exists(
      headers.folder + "/.nvrtc_headers_version", ignored);
  return headers;
}

BundledHeaders unpack_bundled_headers(const Nvrtc& api) {
  BundledHeaders headers = find_bundled_headers(api);
  if (!headers.is_available || headers.folder.empty()) return headers;
  // Headers of this folder become code of this process.
  const CacheFolder folder = open_folder(headers.folder, FolderUse::ReadWrite);
  headers.is_unpacked = false;
  if (!folder) {
    headers.problem = folder.problem;
    return headers;
  }
  const char* error = nullptr;
  const nvrtcResult result =
      api.nvrtcInstallBundledHeaders(headers.folder.c_str(), 0, &error);
  headers.is_unpacked = result == NVRTC_SUCCESS;
  if (!headers.is_unpacked)
    headers.problem =
        concat(headers.folder, ": ",
               error != nullptr ? error : api.nvrtcGetErrorString(result));
  return headers;
}

}  // namespace gpuos::jit
