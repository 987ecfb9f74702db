#include "host/kept_images.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <fstream>
#include <set>
#include <utility>

#include "base/concat.h"
#include "base/environment.h"
#include "host/dependencies.h"
#include "jit/compile_cache.h"
#include "jit/disk_cache.h"
#include "jit/toolchain_key.h"

namespace gpuos::host {
namespace {

std::string machine() {
  utsname names{};
  return ::uname(&names) == 0 ? names.machine : "unknown";
}

/// Returns the system's description of the first processor, which -march=native
/// may use.
std::string read_processor() {
  const std::set<std::string> wanted{
      "vendor_id",       "cpu family",       "model",    "model name",
      "stepping",        "cache size",       "flags",    "Features",
      "CPU implementer", "CPU architecture", "CPU part", "CPU variant"};
  std::string text = machine();
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    const std::string name = line.substr(0, line.find_first_of("\t:"));
    if (wanted.contains(name)) text += concat("\n", line);
  }
  return text;
}

const std::string& processor() {
  static const auto* const text = new std::string(read_processor());
  return *text;
}

/// Returns the compiler's file and its version text, read once per process. A
/// wrapper has another file than the compiler that it runs.
std::string identity_of(const HostCompiler& compiler) {
  struct stat status{};
  if (::stat(compiler.path.c_str(), &status) != 0) return "";
  jit::CacheKey file;
  for (const std::string& word : compiler.command) file.add(word);
  file.add(status.st_size)
      .add(status.st_mtim.tv_sec)
      .add(status.st_mtim.tv_nsec);
  static auto* const versions = new jit::CompileCache<std::string>;
  const auto said =
      versions->get(file.text(), [&] { return version_of(compiler); });
  return said->empty() ? "" : concat(file.text(), *said);
}

/// Empty if the inputs cannot be determined.
std::string key_of(const HostCompiler& compiler,
                   const std::vector<std::string>& options,
                   const HostCompileRequest& request) {
  const std::string identity = identity_of(compiler);
  if (identity.empty()) return "";
  jit::CacheKey key;
  jit::add_gpuos(key);
  key.add(std::string("host")).add(processor()).add(identity);
  for (const std::string& option : options) key.add(option);
  for (const char* name :
       {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "COMPILER_PATH",
        "GCC_EXEC_PREFIX", "LIBRARY_PATH", "CCC_OVERRIDE_OPTIONS"})
    key.add(std::string(variable_of(*environment(), name)));
  key.add(request.entry).add(request.prelude).add(request.source);
  return key.text();
}

}  // namespace

std::string kept_or_compiled(const HostCompiler& compiler,
                             const std::vector<std::string>& options,
                             const HostCompileRequest& request,
                             const std::function<CompiledLibrary()>& compile) {
  jit::DiskCache& cache = jit::disk_cache();
  const bool is_off = cache.settings().folder.empty() &&
                      cache.settings().readonly_folder.empty();
  if (is_off || has_hidden_inputs(request.source)) return compile().bytes;
  const std::string key = key_of(compiler, options, request);
  if (key.empty()) return compile().bytes;
  const auto make = [&] {
    CompiledLibrary made = compile();
    jit::Image image{.binary = std::move(made.bytes),
                     .entries = {concat("gpuos_entry_", request.entry)}};
    image.log = std::move(made.dependencies);
    return image;
  };
  jit::CacheEntry wanted{.key = key,
                         .name = concat(request.entry, ".cpp"),
                         .arch = machine(),
                         .image = {}};
  return std::move(
      cache
          .get(std::move(wanted), make,
               [](const jit::Image& image) { return are_unchanged(image.log); })
          .binary);
}

}  // namespace gpuos::host
