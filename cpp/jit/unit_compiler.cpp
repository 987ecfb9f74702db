#include "jit/unit_compiler.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/embedded.h"
#include "base/interruptible.h"
#include "base/process_exit.h"
#include "base/quiet_thread.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "gpuos/jit_options.h"
#include "jit/compile_options.h"
#include "jit/headers/source_inputs.h"
#include "jit/toolkit/compile_log.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/nvrtc_api.h"

namespace gpuos::jit {
namespace {

// Holds one program of NVRTC. It has the embedded device headers under their
// own name and under "gpuos/".
class NvrtcProgram {
 public:
  /// Throws: CompileError. This and all other functions throw InvalidArgument
  /// for a text with a NUL.
  NvrtcProgram(const Nvrtc& api, const std::string& source,
               const std::string& file_name, std::span<const JitHeader> headers,
               std::span<const std::string> include_dirs);
  NvrtcProgram(const NvrtcProgram&) = delete;
  NvrtcProgram& operator=(const NvrtcProgram&) = delete;
  ~NvrtcProgram();

  void add_name_expression(const std::string& name);
  /// Ends soon after `stop`, and when the process ends, if NVRTC can do that.
  /// Throws: Cancelled.
  nvrtcResult compile(const std::vector<std::string>& options,
                      std::stop_token stop);

  std::string log() const;
  std::string ptx() const;
  std::string cubin() const;
  /// Returns the LTO-IR. Throws: BackendUnavailable if NVRTC has none.
  std::string ltoir() const;
  /// Returns the symbol of a name expression. Throws: CompileError.
  std::string lowered_name(const std::string& name) const;

 private:
  void check(nvrtcResult result) const;
  template <typename Size, typename Get>
  std::string bytes(Size size, Get get) const;
  template <typename Size, typename Get>
  std::string text(Size size, Get get) const;

  const HoldsExit hold_{HoldsExit::For::kCompiler};
  const Nvrtc& api_;
  nvrtcProgram program_ = nullptr;
};

std::vector<JitHeader> make_embedded_headers() {
  std::vector<JitHeader> headers;
  for (const EmbeddedFile& file : embedded_files()) {
    headers.push_back({std::string(file.name), std::string(file.text)});
    // Device headers include each other by plain name. One text under two names
    // would be two headers to `#pragma once`.
    headers.push_back({concat("gpuos/", file.name),
                       concat("#include \"", file.name, "\"\n")});
  }
  return headers;
}

const std::vector<JitHeader>& embedded_headers() {
  static const auto* const instance =
      new std::vector<JitHeader>(make_embedded_headers());
  return *instance;
}

int is_cancelled(void* stop, void* /*unused*/) {
  const bool is_stopped = static_cast<std::stop_token*>(stop)->stop_requested();
  return is_stopped || is_process_exiting() || Interrupt::is_asked_for() ? 1
                                                                         : 0;
}

// Makes glibc keep freed memory. A compilation takes some MiB and returns them.
// After a block of this size was freed, glibc keeps returned memory. Otherwise
// it returns the memory to the system and gets it back page by page. That takes
// a quarter of the time.
void keep_freed_memory() {
  constexpr std::size_t kBlock = std::size_t{16} << 20;
  void* volatile block = std::malloc(kBlock);
  std::free(block);
}

// Refuses texts with a NUL. NVRTC reads up to the first one and would compile a
// part without an error.
void check_whole(const std::string& text, std::string_view what) {
  const std::size_t at = text.find('\0');
  if (at != std::string::npos)
    throw InvalidArgument(
        concat(what, ": expected text without NUL, got one at ", at));
}

struct HeaderPointers {
  std::vector<const char*> names;
  std::vector<const char*> texts;

  void add(std::span<const JitHeader> headers) {
    for (const JitHeader& header : headers) {
      names.push_back(header.name.c_str());
      texts.push_back(header.text.c_str());
    }
  }

  // Adds the standard headers. Leaves out headers that a folder has, because
  // NVRTC would not search the folder then.
  void add_standard(std::span<const std::string> include_dirs) {
    for (const StandardHeader& header : standard_headers()) {
      const bool is_file =
          std::ranges::any_of(include_dirs, [&](const std::string& folder) {
            std::error_code ignored;
            return std::filesystem::exists(concat(folder, "/", header.name),
                                           ignored);
          });
      if (is_file) continue;
      names.push_back(header.name.data());
      texts.push_back(header.text.data());
    }
  }
};

NvrtcProgram::NvrtcProgram(const Nvrtc& api, const std::string& source,
                           const std::string& file_name,
                           std::span<const JitHeader> headers,
                           std::span<const std::string> include_dirs)
    : api_(api) {
  refuse_at_exit();
  check_whole(source, file_name);
  check_whole(file_name, "file name");
  for (const JitHeader& header : headers) {
    check_whole(header.name, "header");
    check_whole(header.text, header.name);
  }
  static std::once_flag kept;
  std::call_once(kept, keep_freed_memory);
  HeaderPointers pointers;
  pointers.add(headers);
  pointers.add(embedded_headers());
  pointers.add_standard(include_dirs);
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  const std::size_t begin =
      source.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  check(api.nvrtcCreateProgram(&program_, source.c_str() + begin,
                               file_name.c_str(),
                               static_cast<int>(pointers.names.size()),
                               pointers.texts.data(), pointers.names.data()));
}

NvrtcProgram::~NvrtcProgram() { api_.nvrtcDestroyProgram(&program_); }

void NvrtcProgram::add_name_expression(const std::string& name) {
  check_whole(name, "name expression");
  check(api_.nvrtcAddNameExpression(program_, name.c_str()));
}

nvrtcResult NvrtcProgram::compile(const std::vector<std::string>& options,
                                  std::stop_token stop) {
  std::vector<const char*> pointers;
  for (const std::string& option : options) {
    check_whole(option, "option");
    pointers.push_back(option.c_str());
  }
  if (api_.nvrtcSetFlowCallback != nullptr)
    check(api_.nvrtcSetFlowCallback(program_, &is_cancelled, &stop));
  const nvrtcResult result = api_.nvrtcCompileProgram(
      program_, static_cast<int>(pointers.size()), pointers.data());
  if (stop.stop_requested() || is_process_exiting())
    throw Cancelled("the compilation was cancelled");
  Interrupt::check("compile");
  return result;
}

std::string NvrtcProgram::log() const {
  return text(api_.nvrtcGetProgramLogSize, api_.nvrtcGetProgramLog);
}

std::string NvrtcProgram::ptx() const {
  return text(api_.nvrtcGetPTXSize, api_.nvrtcGetPTX);
}

std::string NvrtcProgram::cubin() const {
  return bytes(api_.nvrtcGetCUBINSize, api_.nvrtcGetCUBIN);
}

std::string NvrtcProgram::ltoir() const {
  if (api_.nvrtcGetLTOIRSize == nullptr || api_.nvrtcGetLTOIR == nullptr)
    throw BackendUnavailable(
        concat("nvrtc: expected an NVRTC that makes LTO-IR, got NVRTC ",
               api_.major, ".", api_.minor, " at ", api_.path,
               "; install a newer one with: ", kNewerCompiler));
  return bytes(api_.nvrtcGetLTOIRSize, api_.nvrtcGetLTOIR);
}

std::string NvrtcProgram::lowered_name(const std::string& name) const {
  const char* lowered = nullptr;
  check(api_.nvrtcGetLoweredName(program_, name.c_str(), &lowered));
  return lowered;
}

void NvrtcProgram::check(nvrtcResult result) const {
  if (result != NVRTC_SUCCESS)
    throw CompileError(concat("nvrtc: ", api_.nvrtcGetErrorString(result)), "");
}

template <typename Size, typename Get>
std::string NvrtcProgram::bytes(Size size, Get get) const {
  std::size_t count = 0;
  check(size(program_, &count));
  std::string result(count, '\0');
  if (count > 0) check(get(program_, result.data()));
  return result;
}

// NVRTC counts the closing zero of a text.
template <typename Size, typename Get>
std::string NvrtcProgram::text(Size size, Get get) const {
  std::string result = bytes(size, get);
  return result.substr(0, result.find('\0'));
}

// Without this option NVRTC searches the current folder and the folder of the
// including file. Sources with folders of the user need that.
constexpr std::string_view kNoSourceInclude = "--no-source-include";
// This option saves a third of the time. It omits declarations of textures and
// of the runtime, which headers of CUDA and CCCL need.
constexpr std::string_view kMinimal = "--minimal";

std::vector<std::string> wanted_options() {
  return {std::string(kMinimal), std::string(kNoSourceInclude),
          "--modify-stack-limit=false",  // or NVRTC changes the process's limit
          "--no-cache"};                 // or NVRTC writes to the home folder
}

// Holds options that not all NVRTC releases before 12.8 know. An option that is
// refused is not given again.
class OptionalOptions {
 public:
  std::vector<std::string> get() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }

  // Returns false if `log` names none of the given options. Another thread may
  // have dropped the option meanwhile.
  bool drop_refused(const std::string& log,
                    const std::vector<std::string>& given) {
    const auto is_refused = [&](const std::string& option) {
      return log.find(option.substr(0, option.find('='))) != std::string::npos;
    };
    const std::lock_guard lock(mutex_);
    std::erase_if(options_, is_refused);
    return std::ranges::any_of(given, is_refused);
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> options_ = wanted_options();
};

OptionalOptions& optional_options() {
  static OptionalOptions* const instance = new OptionalOptions;
  return *instance;
}

std::vector<std::string> fixed_options(const Unit& unit, const Target& target) {
  std::vector<std::string> options{concat("--gpu-architecture=", target.arch)};
  for (std::string& flag : option_flags(unit.options))
    options.push_back(std::move(flag));
  for (const std::string& folder : unit.include_dirs)
    options.push_back(concat("--include-path=", folder));
  if (!unit.relocatable) return options;
  options.emplace_back("--relocatable-device-code=true");
  if (unit.as_lto) options.emplace_back("--dlink-time-opt");
  // An operator runs in a kernel of another image and sees that image's
  // constant banks (elf_resources.cpp).
  if (!target.is_ptx && !unit.as_lto)
    options.emplace_back("--ptxas-options=--disable-optimizer-constants");
  return options;
}

void add_optional(std::vector<std::string>& options, const Unit& unit,
                  const std::vector<std::string>& optional) {
  const bool has_files = !unit.include_dirs.empty();
  for (const std::string& option : optional) {
    if (has_files && (option == kNoSourceInclude || option == kMinimal))
      continue;
    options.push_back(option);
  }
}

std::string without_blanks(std::string text) {
  std::erase(text, ' ');
  return text;
}

[[noreturn]] void fail(const Nvrtc& api, const Unit& unit, nvrtcResult result,
                       const std::string& log) {
  FirstError error = first_error(log);
  // NVRTC writes the expression with spaces of its own.
  const std::string wrong = without_blanks(wrong_name_expression(log));
  const auto found =
      std::ranges::find(unit.name_expressions, wrong, &without_blanks);
  if (!wrong.empty() && found != unit.name_expressions.end()) {
    // The error's place is in a file that NVRTC made up.
    const std::size_t text = error.line.find("error: ");
    error.line = concat(
        "name_expressions: '", *found, "': ",
        text == std::string::npos ? error.line : error.line.substr(text));
    error.place = {};
  }
  std::string message =
      concat(error.place.line != 0 ? "" : unit.file_name + ": ",
             log.empty() ? api.nvrtcGetErrorString(result) : error.line);
  if (!error.place.excerpt.empty()) message += "\n" + error.place.excerpt;
  if (const std::string hint = name_hint(error, log); !hint.empty())
    message += "\n" + hint;
  throw CompileError(message, log, error.place);
}

Object finish(const NvrtcProgram& program, const Unit& unit,
              const Target& target) {
  Object object{.name = unit.file_name,
                .binary = unit.as_lto     ? program.ltoir()
                          : target.is_ptx ? program.ptx()
                                          : program.cubin(),
                .is_ptx = target.is_ptx && !unit.as_lto,
                .is_lto = unit.as_lto,
                .log = program.log()};
  for (const std::string& name : unit.name_expressions)
    object.symbols.push_back({name, program.lowered_name(name)});
  return object;
}

Object compile_here(const Nvrtc& api, const Unit& unit, const Target& target) {
  const std::string source(unit.source);
  bool has_usual_names = false;
  for (;;) {
    NvrtcProgram program(api, source, unit.file_name, unit.headers,
                         unit.include_dirs);
    for (const std::string& name : unit.name_expressions)
      program.add_name_expression(name);
    std::vector<std::string> options = fixed_options(unit, target);
    const std::vector<std::string> optional = optional_options().get();
    add_optional(options, unit, optional);
    if (has_usual_names)
      options.push_back(concat("--pre-include=", kUsualNames));
    const nvrtcResult result = program.compile(options, unit.stop);
    if (result == NVRTC_SUCCESS) return finish(program, unit, target);
    const std::string log = program.log();
    if (result == NVRTC_ERROR_COMPILATION && !has_usual_names &&
        misses_usual_name(log)) {
      has_usual_names = true;
      continue;
    }
    if (result != NVRTC_ERROR_INVALID_OPTION ||
        !optional_options().drop_refused(log, optional))
      fail(api, unit, result, log);
  }
}

/// Holds a unit with all that it is made of.
struct OwnedUnit {
  OwnedUnit(const Unit& given, const Target& its_target)
      : source(given.source), unit(given), target(its_target) {
    unit.source = source;
    unit.stop = stop.get_token();
  }
  OwnedUnit(const OwnedUnit&) = delete;
  OwnedUnit& operator=(const OwnedUnit&) = delete;

  const std::string source;
  std::stop_source stop;
  Unit unit;
  const Target target;
};

// Compiles in a thread of its own. NVRTC may work for minutes before it asks
// whether to go on. A caller that can be interrupted stops waiting and leaves
// that thread running.
Object compile_aside(const Nvrtc& api, const Unit& unit, const Target& target) {
  const auto owned = std::make_shared<OwnedUnit>(unit, target);
  std::packaged_task<Object()> task(
      [&api, owned] { return compile_here(api, owned->unit, owned->target); });
  std::future<Object> object = task.get_future();
  quiet_thread(std::move(task)).detach();
  const auto stop = [&] { owned->stop.request_stop(); };
  const std::stop_callback forward(unit.stop, stop);
  while (object.wait_for(Interrupt::kPeriod) != std::future_status::ready) {
    if (!Interrupt::is_asked_for()) continue;
    stop();
    Interrupt::check("compile");
  }
  return object.get();
}

}  // namespace

std::vector<std::string> unit_options(const Unit& unit, const Target& target) {
  std::vector<std::string> options = fixed_options(unit, target);
  add_optional(options, unit, wanted_options());
  return options;
}

Object compile_unit(const Nvrtc& api, const Unit& unit, const Target& target) {
  return is_interruptible() ? compile_aside(api, unit, target)
                            : compile_here(api, unit, target);
}

}  // namespace gpuos::jit
