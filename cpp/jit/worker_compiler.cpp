#include <future>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/embedded.h"
#include "jit/compile_cache.h"
#include "jit/disk_cache.h"
#include "jit/elf_resources.h"
#include "jit/linker.h"
#include "jit/nvrtc_api.h"
#include "jit/operator_compiler.h"
#include "jit/target.h"
#include "jit/toolchain_key.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {
namespace {

Image compile_worker_now(const Nvrtc& api, const Target& target) {
  std::vector<std::future<Object>> units;
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".cu")) continue;
    units.push_back(std::async(std::launch::async, [&api, &target, &file] {
      return compile_unit(api,
                          {.source = file.text,
                           .file_name = std::string(file.name),
                           .options = {.max_registers = kWorkerRegisters}},
                          target);
    }));
  }
  std::vector<Object> objects;
  for (std::future<Object>& unit : units) objects.push_back(unit.get());
  Image image;
  for (const Object& object : objects) image.log += object.log;
  image.binary = link_objects(api, objects, target, kWorkerRegisters);
  image.needs = read_resources(image.binary, "gpuos_worker");
  return image;
}

}  // namespace

std::string compile_worker(int compute_capability) {
  const Nvrtc& api = nvrtc();
  const Target target =
      choose_target(api, compute_capability, config().nvrtc_arch);
  CacheKey key;
  key.add(std::string("worker"))
      .add(toolchain_key(api, target))
      .add(kWorkerRegisters);
  return disk_cache()
      .get({.key = key.text(),
            .name = "worker.cu",
            .arch = target.link_arch,
            .image = {}},
           [&] { return compile_worker_now(api, target); })
      .binary;
}

}  // namespace gpuos::jit
