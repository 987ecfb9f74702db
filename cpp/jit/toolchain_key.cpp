#include "jit/toolchain_key.h"

#include "base/embedded.h"
#include "device/task_abi.h"
#include "gpuos/version.h"
#include "jit/cache/cache_entry.h"
#include "jit/cache/sha256.h"
#include "jit/headers/source_inputs.h"
#include "jit/linker.h"
#include "jit/toolkit/nvjitlink_api.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {
namespace {

// Returns the digest of all headers. The headers that a source includes are
// unknown before it is compiled. All of them change together, with gpuos.
const std::string& headers_digest() {
  static const auto* const digest = new std::string([] {
    CacheKey texts;
    for (const EmbeddedFile& file : embedded_files())
      texts.add(std::string(file.name)).add(std::string(file.text));
    for (const StandardHeader& header : standard_headers())
      texts.add(std::string(header.name)).add(std::string(header.text));
    return sha256_hex(texts.text());
  }());
  return *digest;
}

void add_linker(CacheKey& key, const Nvrtc& api, const Target& target) {
  const NvJitLink* linker = try_nvjitlink(api.major, api.minor);
  if (linker != nullptr)
    key.add(linker->major).add(linker->minor).add(linker->file);
  // The driver links where nvJitLink is missing or too old for the device.
  if (linker == nullptr || target.is_ptx) key.add(driver_linker_file());
  for (const bool has_ptx : {false, true}) {
    for (const std::string& option : link_options(target, has_ptx, 0))
      key.add(option);
  }
}

}  // namespace

void add_gpuos(CacheKey& key) {
  key.add(kCacheSchema)
      .add(static_cast<int>(abi::kAbiVersion))
      .add(std::string(version()))
      .add(headers_digest());
}

std::string toolchain_key(const Nvrtc& api, const Target& target) {
  CacheKey key;
  add_gpuos(key);
  key.add(api.major)
      .add(api.minor)
      .add(api.file)
      .add(target.arch)
      .add(target.link_arch);
  for (const std::string& option : unit_options({}, target)) key.add(option);
  add_linker(key, api, target);
  return key.text();
}

}  // namespace gpuos::jit
