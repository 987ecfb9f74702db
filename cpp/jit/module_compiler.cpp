#include "jit/module_compiler.h"

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "base/concat.h"
#include "base/config.h"
#include "gpuos/error.h"
#include "jit/cache/compile_cache.h"
#include "jit/cache/disk_cache.h"
#include "jit/compile_options.h"
#include "jit/headers/cuda_headers.h"
#include "jit/headers/source_inputs.h"
#include "jit/symbols.h"
#include "jit/toolchain_key.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {
namespace {

CompileCache<ModuleImage>& modules() {
  static auto* const cache = new CompileCache<ModuleImage>;
  return *cache;
}

Target target_of(const Nvrtc& api, const JitSource& source,
                 std::optional<int> compute_capability) {
  const std::string& asked =
      source.options.arch.empty() ? config().nvrtc_arch : source.options.arch;
  return choose_target(api, compute_capability.value_or(api.archs.back()),
                       asked);
}

// Returns whether the source may include other files than its own headers and
// gpuos's.
bool wants_files(const JitSource& source) {
  if (!source.include_dirs.empty()) return true;
  const auto names = includes_of(source.source);
  const auto is_given = [&](const std::string& name) {
    return is_embedded(name) ||
           std::ranges::any_of(source.headers, [&](const JitHeader& header) {
             return header.name == name;
           });
  };
  if (!names || !std::ranges::all_of(*names, is_given)) return true;
  return std::ranges::any_of(source.headers, [](const JitHeader& header) {
    return !stands_alone(header.text);
  });
}

JitSource with_cuda_headers(const Nvrtc& api, JitSource source) {
  add_cuda_headers(api, source.include_dirs, source.headers);
  return source;
}

Unit unit_of(const JitSource& source, std::stop_token stop) {
  return {.source = source.source,
          .file_name = source.name,
          .options = source.options,
          .headers = source.headers,
          .include_dirs = source.include_dirs,
          .name_expressions = source.name_expressions,
          .relocatable = false,
          .stop = std::move(stop)};
}

// Compiles a whole module. The assembler names a function that is missing, but
// not its caller.
Object compile_whole(const Nvrtc& api, const JitSource& source,
                     const Target& target, std::stop_token stop) {
  const Unit unit = unit_of(source, std::move(stop));
  try {
    return compile_unit(api, unit, target);
  } catch (const CompileError& error) {
    constexpr std::string_view kMissing = "Unresolved extern ";
    throw_with_header_hint(error, api);
    const std::size_t at = error.log().find(kMissing);
    if (at == std::string::npos || target.is_ptx) throw;
    const std::size_t open = error.log().find('\'', at) + 1;
    const std::string symbol =
        error.log().substr(open, error.log().find('\'', open) - open);
    Target as_ptx = target;
    as_ptx.arch.replace(0, as_ptx.arch.find('_'), "compute");
    as_ptx.is_ptx = true;
    std::string callers;
    for (const std::string& caller :
         callers_of(compile_unit(api, unit, as_ptx).binary, symbol))
      callers += (callers.empty() ? "" : ", ") + caller;
    throw CompileError(concat(source.name, ": ", demangled(symbol),
                              " is declared and not defined; used by ",
                              callers.empty() ? "the module" : callers),
                       error.log());
  }
}

Image compile_now(const Nvrtc& api, const JitSource& source,
                  const Target& target, std::stop_token stop) {
  const auto start = std::chrono::steady_clock::now();
  try {
    Object object = compile_whole(api, source, target, std::move(stop));
    const std::chrono::duration<double, std::milli> spent =
        std::chrono::steady_clock::now() - start;
    append_log(concat(source.name, ": compiled for ", target.arch, " in ",
                      spent.count(), " ms\n"));
    return {.binary = std::move(object.binary),
            .entries = {},
            .log = std::move(object.log),
            .symbols = std::move(object.symbols)};
  } catch (const CompileError& error) {
    append_log(concat(error.what(), "\n", error.log()));
    throw;
  }
}

// Returns a key of all that can differ within one process except the text of
// files.
std::string key_of(const JitSource& source, const Target& target) {
  CacheKey key;
  key.add(target.arch).add(source.name).add(source.source);
  key.add(source.name_expressions.size());
  for (const std::string& name : source.name_expressions) key.add(name);
  for (const auto& [name, text] : source.headers)
    key.add(std::string("header")).add(name).add(text);
  for (const std::string& folder : source.include_dirs)
    key.add(std::string("folder")).add(folder);
  for (const std::string& flag : option_flags(source.options))
    key.add(std::string("flag")).add(flag);
  return key.text();
}

Image read_or_compile(const Nvrtc& api, const JitSource& source,
                      const Target& target, const std::string& key,
                      const std::stop_token& stop) {
  CacheKey disk_key;
  disk_key.add(std::string("module")).add(toolchain_key(api, target)).add(key);
  return disk_cache().get(
      {.key = disk_key.text(),
       .name = source.name,
       .arch = target.arch,
       .image = {}},
      [&] { return compile_now(api, source, target, stop); });
}

std::shared_ptr<const ModuleImage> remembered(const Nvrtc& api,
                                              const JitSource& source,
                                              const Target& target,
                                              const std::string& key,
                                              const std::stop_token& stop) {
  return modules().get(key, [&] {
    return ModuleImage{read_or_compile(api, source, target, key, stop), target};
  });
}

}  // namespace

std::shared_ptr<const ModuleImage> compile_module(
    const JitSource& given, std::optional<int> compute_capability,
    std::stop_token stop) {
  if (stop.stop_requested()) throw Cancelled("the compilation was cancelled");
  if (!given.options.include_dirs.empty()) {
    JitSource source = given;
    for (std::string& folder : std::exchange(source.options.include_dirs, {}))
      source.include_dirs.push_back(std::move(folder));
    return compile_module(source, compute_capability, std::move(stop));
  }
  check_options(given.options);
  const Nvrtc& api = nvrtc();
  check_options(given.options, api);
  const Target target = target_of(api, given, compute_capability);
  // The key has all that the image is made of.
  if (!wants_files(given))
    return remembered(api, given, target, key_of(given, target), stop);
  const JitSource source = with_cuda_headers(api, given);
  // If NVRTC searches any folder, it searches the current folder too.
  const auto digest =
      include_digest(source.source, source.headers, given.include_dirs,
                     source.include_dirs.empty() ? "" : ".");
  if (!digest)
    return std::make_shared<const ModuleImage>(
        ModuleImage{compile_now(api, source, target, std::move(stop)), target});
  const auto cuda_dirs =
      std::span(source.include_dirs).subspan(given.include_dirs.size());
  return remembered(
      api, source, target,
      concat(key_of(source, target), *digest, identity_of(cuda_dirs)), stop);
}

}  // namespace gpuos::jit
