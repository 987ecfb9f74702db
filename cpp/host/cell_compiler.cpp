#include "host/cell_compiler.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <mutex>
#include <string_view>

#include "base/concat.h"
#include "base/process_exit.h"
#include "gpuos/error.h"
#include "host/host_compiler.h"
#include "host/subprocess.h"
#include "host/temp_folder.h"

namespace gpuos::host {
namespace {

constexpr std::size_t kMaxLogBytes = 64 * 1024;
constexpr std::size_t kMaxImageBytes = 256 * 1024 * 1024;
constexpr std::chrono::seconds kTimeout{60};

// Those that somebody uses; a later session finds what an earlier one read.
std::shared_ptr<Prelude> shared_prelude(const std::string& key,
                                        const std::vector<std::string>& command,
                                        const std::string& text) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Prelude>> known;
  const std::lock_guard lock(mutex);
  std::shared_ptr<Prelude> found = known[key].lock();
  if (found == nullptr) {
    std::erase_if(known, [](const auto& e) { return e.second.expired(); });
    found = std::make_shared<Prelude>(command, text);
    known[key] = found;
  }
  return found;
}

int number_before(std::string_view text, std::size_t& end) {
  const std::size_t colon = end == 0 ? text.npos : text.rfind(':', end - 1);
  if (colon == text.npos) return 0;
  int value = 0;
  const char* const begin = text.data() + colon + 1;
  const auto result = std::from_chars(begin, text.data() + end, value);
  if (result.ec != std::errc() || result.ptr != text.data() + end) return 0;
  end = colon;
  return value;
}

// "cell 3:4:7: error: 'y' was not declared" as "cell 3:4: error: ...".
CompileError first_error(const std::string& name, const std::string& log) {
  std::string first;
  for (std::string_view rest = log; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    std::size_t at = line.find(": error: ");
    if (at == line.npos) at = line.find(": fatal error: ");
    if (first.empty()) first = line;
    if (at == line.npos) continue;
    SourcePlace place;
    std::size_t end = at;
    const int last = number_before(line, end);
    const int before = last == 0 ? 0 : number_before(line, end);
    place.line = before != 0 ? before : last;
    place.column = before != 0 ? last : 0;
    if (place.line == 0) return {std::string(line), log};
    place.file = line.substr(0, end);
    return {concat(place.file, ":", place.line, line.substr(at)), log, place};
  }
  return {concat(name, ": the C++ compiler failed: ",
                 first.empty() ? "no message" : first),
          log};
}

}  // namespace

void CellCompiler::add_include_dir(const std::string& dir) {
  if (std::ranges::find(include_dirs_, dir) == include_dirs_.end())
    include_dirs_.push_back(dir);
}

std::vector<std::string> CellCompiler::options() const {
  const HostCompiler compiler = find_host_compiler();
  std::vector<std::string> command = compiler.command;
  // Names that others find may be theirs: what is defined again takes the place
  // of what was. No library's symbol may be one for the whole process.
  command.insert(command.end(),
                 {"-std=c++20", "-O2", "-fPIC", "-pipe", "-w",
                  "-fvisibility=hidden", "-fsemantic-interposition"});
  if (compiler.path.find("clang") == std::string::npos)
    command.emplace_back("-fno-gnu-unique");
  for (const std::string& dir : include_dirs_) command.push_back("-I" + dir);
  return command;
}

Prelude& CellCompiler::prelude_of(const std::vector<std::string>& command,
                                  const std::string& includes) {
  std::string key = includes;
  for (const std::string& word : command) key += concat(word, "\n");
  if (prelude_ == nullptr || key != prelude_key_) {
    prelude_ = shared_prelude(key, command, concat(before_, includes));
    prelude_key_ = key;
  }
  return *prelude_;
}

void CellCompiler::check(const std::string& text) {
  const HoldsExit hold{HoldsExit::For::kCompiler};
  refuse_at_exit();
  const TempFolder folder;
  std::vector<std::string> command = options();
  write_file(folder.file("check.cpp"), before_ + text);
  command.insert(command.end(), {"-fsyntax-only", folder.file("check.cpp")});
  const ProcessResult result =
      run_process(command, folder.file("log"), folder.path(), kTimeout);
  if (result.exit_code > 0 || result.signal != 0 || result.is_timeout)
    throw first_error("check", read_file(folder.file("log"), kMaxLogBytes));
}

HostImage CellCompiler::compile(const CellSource& source) {
  // Or files and a compiler would be left behind.
  const HoldsExit hold{HoldsExit::For::kCompiler};
  refuse_at_exit();
  const TempFolder folder;
  std::vector<std::string> command = options();
  Prelude& prelude = prelude_of(command, source.includes);
  write_file(folder.file("cell.cpp"), source.text);
  write_file(folder.file("exports"),
             concat("{ global: ", source.exports, "; local: *; };\n"));
  // The tables of addresses stay writable, and a function may come later.
  command.insert(
      command.end(),
      {"-include", prelude.file(), "-shared", "-Wl,-z,norelro", "-Wl,-z,lazy",
       concat("-Wl,--version-script=", folder.file("exports")),
       folder.file("cell.cpp"), "-o", folder.file("cell.so")});
  const std::string log_file = folder.file("log");
  const ProcessResult result =
      run_process(command, log_file, folder.path(), kTimeout);
  // Not beside the first cell, which is awaited.
  prelude.read_ahead();
  const std::string log = read_file(log_file, kMaxLogBytes);
  if (result.is_timeout)
    throw CompileError(concat(source.name, ": expected ", command[0],
                              " to end within ", kTimeout.count(), " s"),
                       log);
  const std::string image = folder.file("cell.so");
  const auto bytes = regular_file_bytes(image);
  if (result.exit_code > 0 || result.signal != 0 || !bytes)
    throw first_error(source.name, log);
  if (*bytes > kMaxImageBytes)
    throw CompileError(concat(source.name, ": expected at most ",
                              kMaxImageBytes, " bytes of code and data, got ",
                              *bytes, "; allocate large data instead"),
                       log);
  return make_host_image(read_file(image, kMaxImageBytes), source.name);
}

}  // namespace gpuos::host
