#include "jit/unit_compiler.h"

#include <mutex>
#include <vector>

#include "concat.h"
#include "embedded.h"
#include "gpuos/error.h"

namespace gpuos::jit {
namespace {

struct Headers {
  std::vector<std::string> names;
  std::vector<std::string> texts;
  std::vector<const char*> name_pointers;
  std::vector<const char*> text_pointers;
};

Headers make_headers() {
  Headers headers;
  for (const EmbeddedFile& file : embedded_files()) {
    headers.names.emplace_back(file.name);
    headers.texts.emplace_back(file.text);
    // Device headers include each other by plain name. The same text under two
    // names would be two headers to `#pragma once`.
    headers.names.push_back(concat("gpuos/", file.name));
    headers.texts.push_back(concat("#include \"", file.name, "\"\n"));
  }
  for (const std::string& name : headers.names)
    headers.name_pointers.push_back(name.c_str());
  for (const std::string& text : headers.texts)
    headers.text_pointers.push_back(text.c_str());
  return headers;
}

const Headers& headers() {
  static const Headers* const instance = new Headers(make_headers());
  return *instance;
}

std::vector<std::string> wanted_options() {
  return {"--minimal",            // a third of the time: no texture and runtime
                                  // declarations
          "--no-source-include",  // never look into the current folder
          "--modify-stack-limit=false",  // or NVRTC changes the process's limit
          "--no-cache"};                 // or NVRTC writes to the home folder
}

// Options that NVRTC releases before 12.8 do not all know. One that is refused
// is not given again.
class OptionalOptions {
 public:
  std::vector<std::string> get() const {
    const std::lock_guard lock(mutex_);
    return options_;
  }

  // False if `log` names none of them.
  bool drop_refused(const std::string& log) {
    const std::lock_guard lock(mutex_);
    return std::erase_if(options_, [&](const std::string& option) {
             return log.find(option.substr(0, option.find('='))) !=
                    std::string::npos;
           }) > 0;
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
  std::vector<std::string> options{concat("--gpu-architecture=", target.arch),
                                   "--std=c++20",
                                   "--relocatable-device-code=true"};
  // An operator runs in a kernel of another image and sees that image's
  // constant banks; see elf_resources.cpp.
  if (!target.is_ptx)
    options.emplace_back("--ptxas-options=--disable-optimizer-constants");
  if (unit.max_registers != 0)
    options.push_back(concat("--maxrregcount=", unit.max_registers));
  return options;
}

class Program {
 public:
  Program(const Nvrtc& api, const Unit& unit) : api_(api) {
    const Headers& all = headers();
    const std::string source(unit.source);
    check(api.nvrtcCreateProgram(
        &program_, source.c_str(), unit.file_name.c_str(),
        static_cast<int>(all.names.size()), all.text_pointers.data(),
        all.name_pointers.data()));
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { api_.nvrtcDestroyProgram(&program_); }

  nvrtcResult compile(const std::vector<std::string>& options) {
    std::vector<const char*> pointers;
    for (const std::string& option : options)
      pointers.push_back(option.c_str());
    return api_.nvrtcCompileProgram(program_, static_cast<int>(pointers.size()),
                                    pointers.data());
  }

  std::string log() const {
    return text(api_.nvrtcGetProgramLogSize, api_.nvrtcGetProgramLog);
  }
  std::string ptx() const {
    return text(api_.nvrtcGetPTXSize, api_.nvrtcGetPTX);
  }
  std::string cubin() const {
    return bytes(api_.nvrtcGetCUBINSize, api_.nvrtcGetCUBIN);
  }

 private:
  void check(nvrtcResult result) const {
    if (result != NVRTC_SUCCESS)
      throw CompileError(concat("nvrtc: ", api_.nvrtcGetErrorString(result)),
                         "");
  }

  template <typename Size, typename Get>
  std::string bytes(Size size, Get get) const {
    std::size_t count = 0;
    check(size(program_, &count));
    std::string result(count, '\0');
    if (count > 0) check(get(program_, result.data()));
    return result;
  }

  // NVRTC counts the closing zero of a text.
  template <typename Size, typename Get>
  std::string text(Size size, Get get) const {
    std::string result = bytes(size, get);
    return result.substr(0, result.find('\0'));
  }

  const Nvrtc& api_;
  nvrtcProgram program_ = nullptr;
};

// "axpy.cu:3: error: ..." from the first line of the log that tells of one.
std::string first_error(const std::string& log) {
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = std::min(log.find('\n', begin), log.size());
    std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    if (line.find("error") == std::string::npos &&
        line.find("fatal") == std::string::npos)
      continue;
    const std::size_t open = line.find('(');
    const std::size_t close = line.find("): ");
    if (open != std::string::npos && close != std::string::npos &&
        open < close) {
      line.erase(close, 1);
      line[open] = ':';
    }
    return line;
  }
  return log.substr(0, log.find('\n'));
}

}  // namespace

std::vector<std::string> unit_options(const Unit& unit, const Target& target) {
  std::vector<std::string> options = fixed_options(unit, target);
  for (const std::string& option : wanted_options()) options.push_back(option);
  return options;
}

Object compile_unit(const Nvrtc& api, const Unit& unit, const Target& target) {
  for (;;) {
    Program program(api, unit);
    std::vector<std::string> options = fixed_options(unit, target);
    for (std::string& option : optional_options().get())
      options.push_back(std::move(option));
    const nvrtcResult result = program.compile(options);
    if (result == NVRTC_SUCCESS) {
      return {unit.file_name, target.is_ptx ? program.ptx() : program.cubin(),
              target.is_ptx, program.log()};
    }
    const std::string log = program.log();
    if (result == NVRTC_ERROR_INVALID_OPTION &&
        optional_options().drop_refused(log))
      continue;
    const std::string error = first_error(log);
    throw CompileError(
        concat(error.starts_with(unit.file_name) ? "" : unit.file_name + ": ",
               error.empty() ? api.nvrtcGetErrorString(result) : error),
        log);
  }
}

}  // namespace gpuos::jit
