#include "jit/nvrtc_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <system_error>

#include "base/concat.h"
#include "base/embedded.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "jit/header_packages.h"
#include "jit/standard_headers.h"

namespace gpuos::jit {
namespace {

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

}  // namespace

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

}  // namespace gpuos::jit
