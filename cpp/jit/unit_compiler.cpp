#include "jit/unit_compiler.h"

#include <algorithm>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/interruptible.h"
#include "base/quiet_thread.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "jit/compile_log.h"
#include "jit/compile_options.h"
#include "jit/missing_names.h"
#include "jit/nvrtc_program.h"

namespace gpuos::jit {
namespace {

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
