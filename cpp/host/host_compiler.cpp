#include "host/host_compiler.h"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/config.h"
#include "base/embedded.h"
#include "base/process_exit.h"
#include "gpuos/error.h"
#include "host/dependencies.h"
#include "host/host_image.h"
#include "host/subprocess.h"
#include "host/temp_folder.h"
#include "jit/cache/compile_cache.h"
#include "jit/cache/disk_cache.h"
#include "jit/toolchain_key.h"
#include "jit/toolkit/compile_log.h"

namespace gpuos::host {
namespace {

// The output of a compiler, and its dependencies_from().
struct CompiledLibrary {
  std::string bytes;
  std::string dependencies;
};

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
// Returns the library that an earlier process cached for the same request,
// else the result of `compile`, which is cached. The cache depends on the
// processor type, the compiler and its options, and the files that it has
// read. Concurrent processes with one request wait for the first.
// Throws: the exceptions of `compile`.

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

/// Compiled images by source; the oldest go when there are too many.
///
/// Threads: any.
class ImageCache {
 public:
  using Image = std::shared_ptr<const HostImage>;

  /// Null if it is not there.
  Image find(const std::string& source) const {
    const std::lock_guard lock(mutex_);
    const auto found = images_.find(source);
    return found == images_.end() ? nullptr : found->second;
  }

  void add(const std::string& source, const Image& image) {
    const std::lock_guard lock(mutex_);
    if (!images_.try_emplace(source, image).second) return;
    order_.push_back(source);
    if (order_.size() <= kMaxImages) return;
    images_.erase(order_.front());
    order_.pop_front();
  }

 private:
  static constexpr std::size_t kMaxImages = 256;

  mutable std::mutex mutex_;
  std::unordered_map<std::string, Image> images_;
  std::deque<std::string> order_;
};

constexpr std::size_t kMaxRuleBytes = 4 * 1024 * 1024;

std::string variable(std::string_view name) {
  return std::string(variable_of(*environment(), name));
}

bool is_program(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

/// Empty if there is none.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? name : "";
  std::istringstream folders{variable("PATH")};
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string path = concat(folder.empty() ? "." : folder, "/", name);
    if (is_program(path)) return path;
  }
  return "";
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void write_headers(const TempFolder& folder) {
  const std::filesystem::path root = folder.file("gpuos");
  std::error_code error;
  for (const EmbeddedFile& file : embedded_files()) {
    const std::filesystem::path path = root / file.name;
    std::filesystem::create_directories(path.parent_path(), error);
    if (error)
      throw Error(concat("host compiler: cannot make ",
                         path.parent_path().string(), ": ", error.message()));
    write_file(path.string(), file.text);
  }
  // Replaces the system's headers, whose assert() ends the process.
  for (const char* name : {"cassert", "assert.h"})
    write_file(folder.file(name), "#include \"gpuos/asserts.h\"\n");
}

std::vector<std::string> options() {
  std::vector<std::string> all;
  // Without -ffp-contract=off the result of a * b + c would depend on the
  // processor. The other two options let loops with comparisons and roots
  // vectorise, and change no result.
  for (const char* option : {"-std=c++20", "-O3", "-fPIC", "-shared", "-pipe",
                             "-w", "-fvisibility=hidden", "-ffp-contract=off",
                             "-fno-math-errno", "-fno-trapping-math"}) {
    all.emplace_back(option);
  }
#if defined(__x86_64__)
  all.emplace_back("-march=native");
#endif
  return all;
}

std::vector<std::string> command_for(const HostCompiler& compiler,
                                     const TempFolder& folder) {
  std::vector<std::string> command = compiler.command;
  const std::string headers = folder.file("gpuos");
  for (std::string& option : options()) command.push_back(std::move(option));
  command.push_back("-I" + folder.path());
  // Not -I: <math.h> must stay the system's.
  command.insert(command.end(), {"-iquote", headers});
  command.insert(command.end(), {"-include", headers + "/host_names.h"});
  // Has it list the files that it reads.
  command.insert(command.end(), {"-MD", "-MF", folder.file("read")});
  command.insert(command.end(), {folder.file("operator.cpp"), "-o",
                                 folder.file("operator.so")});
  return command;
}

std::string_view hint_for(const std::string& log) {
  static constexpr std::array<std::string_view, 6> kDeviceOnly{
      "threadIdx", "blockIdx",      "blockDim",
      "gridDim",   "__syncthreads", "__shared__"};
  for (const std::string_view name : kDeviceOnly) {
    if (log.find(name) != std::string::npos) {
      return "; an operator runs on both backends when it uses lane.index(), "
             "lane.count() and lane.barrier()";
    }
  }
  return "";
}

CompiledLibrary compile(const HostCompiler& compiler,
                        const HostCompileRequest& request) {
  // Without this, exit would leave files and a compiler.
  const HoldsExit hold{HoldsExit::For::kCompiler};
  refuse_at_exit();
  const TempFolder folder;
  write_headers(folder);
  const std::string name = request.entry + ".cpp";
  write_file(folder.file("operator.cpp"),
             concat(request.prelude, "#line 1 \"", name, "\"\n", request.source,
                    "\n"));
  const std::string log_file = folder.file("log");
  const ProcessResult result = run_process(
      command_for(compiler, folder), log_file, folder.path(), request.timeout,
      /*yields=*/!request.is_awaited);
  const std::string log = read_file(log_file, kMaxLogBytes);
  if (result.is_timeout) {
    throw CompileError(
        concat(request.entry, ": expected ", compiler.path, " to end within ",
               request.timeout.count(), " ms"),
        log);
  }
  if (result.signal != 0) {
    throw CompileError(
        concat(request.entry, ": ", compiler.path, " was ended by signal ",
               result.signal, ": ", jit::first_error(log).line),
        log);
  }
  const std::string image = folder.file("operator.so");
  const auto bytes = regular_file_bytes(image);
  if (result.exit_code > 0 || !bytes) {
    jit::FirstError first = jit::first_error(log);
    if (first.place.file == name)
      first.place.excerpt = jit::excerpt_of(request.source, first.place);
    throw CompileError(concat(request.entry, ": ", compiler.path,
                              " failed: ", first.line, hint_for(log)),
                       log, first.place);
  }
  if (*bytes > kMaxImageBytes) {
    throw CompileError(
        concat(request.entry, ": expected at most ", kMaxImageBytes,
               " bytes of code and data, got ", *bytes,
               "; let large data be zero at the start, or pass it as an input"),
        log);
  }
  CompiledLibrary made{.bytes = read_file(image, kMaxImageBytes),
                       .dependencies = {}};
  static_cast<void>(make_host_image(made.bytes, request.entry));  // it is whole
  const std::string rule = folder.file("read");
  if (regular_file_bytes(rule))
    made.dependencies =
        dependencies_from(read_file(rule, kMaxRuleBytes), folder.path());
  return made;
}

ImageCache& images() {
  static ImageCache* cache = new ImageCache;  // outlives every other static
  return *cache;
}

}  // namespace

HostCompiler find_host_compiler() {
  const std::vector<std::string> chosen = words_of(variable("CXX"));
  if (!chosen.empty()) {
    const std::string path = find_program(chosen[0]);
    if (path.empty()) {
      throw BackendUnavailable(
          concat("host compiler: expected CXX to name a C++ compiler, got '",
                 chosen[0], "'; correct or unset it"));
    }
    HostCompiler compiler{path, chosen};
    compiler.command[0] = path;
    return compiler;
  }
  for (const char* name : {"c++", "g++", "clang++"}) {
    if (std::string path = find_program(name); !path.empty()) {
      return {path, {path}};
    }
  }
  throw BackendUnavailable(
      "host compiler: expected c++, g++ or clang++ in PATH, got none; install "
      "one (apt install g++) or set CXX");
}

std::vector<std::string> compiler_places() {
  std::vector<std::string> places{"CXX"};
  std::istringstream folders{variable("PATH")};
  for (std::string folder; std::getline(folders, folder, ':');)
    places.push_back(folder.empty() ? "." : folder);
  return places;
}

std::string version_of(const HostCompiler& compiler) {
  try {
    const HoldsExit hold{HoldsExit::For::kCompiler};
    refuse_at_exit();
    const TempFolder folder;
    std::vector<std::string> command = compiler.command;
    command.emplace_back("--version");
    const std::string log = folder.file("log");
    const auto result = run_process(command, log, folder.path(),
                                    std::chrono::milliseconds(5000));
    if (result.exit_code > 0 || result.is_timeout) return "";
    const std::string text = read_file(log, kMaxLogBytes);
    return text.substr(0, text.find('\n'));
  } catch (const Cancelled&) {
    throw;
  } catch (const Error&) {
    return "";
  }
}

HostModule compile_host_operator(const HostCompileRequest& request) {
  const std::string key = concat(request.prelude, request.source);
  std::shared_ptr<const HostImage> image = images().find(key);
  if (image == nullptr) {
    const HostCompiler compiler = find_host_compiler();
    image = std::make_shared<const HostImage>(make_host_image(
        kept_or_compiled(compiler, options(), request,
                         [&] { return compile(compiler, request); }),
        request.entry));
    images().add(key, image);
  }
  return load_host_image(*image, request.entry);
}

}  // namespace gpuos::host
