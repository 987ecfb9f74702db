#include "host/cell_compiler.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <mutex>

#include "base/concat.h"
#include "base/process_exit.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "host/host_compiler.h"
#include "host/subprocess.h"
#include "host/temp_folder.h"
#include "jit/toolkit/compile_log.h"

namespace gpuos::host {
namespace {

// The preludes in use. A later session reuses the prelude of an earlier one.
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

// "cell 3:4:7: error: 'y' was not declared" as "cell 3:4: error: ...".
CompileError error_in(const std::string& name, const std::string& log) {
  const jit::FirstError first = jit::first_error(log);
  if (first.place.line != 0) return {first.without_column(), log, first.place};
  return {concat(name, ": the C++ compiler failed: ", first.line), log};
}

}  // namespace

Prelude::Prelude(const std::vector<std::string>& command,
                 const std::string& text)
    : command_(command),
      process_(::getpid()),
      folder_(std::make_unique<TempFolder>()) {
  write_file(file(), text);
}

Prelude::~Prelude() {
  if (::getpid() != process_) {
    // NOLINTNEXTLINE(bugprone-unused-return-value): the parent removes it
    folder_.release();
  } else if (done_.valid()) {
    is_unwanted_.store(true, std::memory_order_relaxed);
    done_.wait();
  }
}

void Prelude::read_ahead() {
  if (done_.valid()) return;
  done_ = std::async(std::launch::async, [this] { read(); }).share();
}

void Prelude::wait() const {
  if (done_.valid()) done_.wait();
}

std::string Prelude::file() const { return folder_->file("prelude.h"); }

// A failure costs time only.
void Prelude::read() noexcept {
  try {
    const HoldsExit hold{HoldsExit::For::kCompiler};
    refuse_at_exit();
    const Interrupt unwanted(
        [](void* self) noexcept {
          return static_cast<Prelude*>(self)->is_unwanted_.load(
              std::memory_order_relaxed);
        },
        this);
    std::vector<std::string> command = command_;
    const std::string made = folder_->file("read");
    command.insert(command.end(), {"-x", "c++-header", file(), "-o", made});
    const ProcessResult result = run_process(command, folder_->file("log"),
                                             folder_->path(), kCompilerTimeout);
    // Whole from the first look on.
    if (!result.is_timeout && result.exit_code <= 0 && result.signal == 0)
      std::rename(made.c_str(), folder_->file("prelude.h.gch").c_str());
  } catch (const std::exception&) {
    return;
  }
}

void CellCompiler::add_include_dir(const std::string& dir) {
  if (std::ranges::find(include_dirs_, dir) == include_dirs_.end())
    include_dirs_.push_back(dir);
}

std::vector<std::string> CellCompiler::options() const {
  const HostCompiler compiler = find_host_compiler();
  std::vector<std::string> command = compiler.command;
  // Exported names may be replaced: a redefinition takes precedence. No
  // library's symbol may be unique in the process.
  command.insert(command.end(),
                 {"-std=c++20", "-O2", "-fPIC", "-pipe", "-w",
                  "-fvisibility=hidden", "-fsemantic-interposition"});
  if (compiler.path.find("clang") == std::string::npos)
    command.emplace_back("-fno-gnu-unique");
  command.insert(command.end(), flags_.begin(), flags_.end());
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
      run_process(command, folder.file("log"), folder.path(), kCompilerTimeout);
  if (result.exit_code > 0 || result.signal != 0 || result.is_timeout)
    throw error_in("check", read_file(folder.file("log"), kMaxLogBytes));
}

// `answer` is the file that receives the result.
std::string CellCompiler::ask(const CellSource& source,
                              const std::vector<std::string>& how,
                              const char* answer) {
  const HoldsExit hold{HoldsExit::For::kCompiler};
  refuse_at_exit();
  const TempFolder folder;
  std::vector<std::string> command = options();
  Prelude& prelude = prelude_of(command, source.includes);
  write_file(folder.file("ask.cpp"), source.text);
  command.insert(command.end(), {"-include", prelude.file()});
  command.insert(command.end(), how.begin(), how.end());
  command.insert(command.end(),
                 {folder.file("ask.cpp"), "-o", folder.file("macros")});
  const ProcessResult result =
      run_process(command, folder.file("log"), folder.path(), kCompilerTimeout);
  if (result.is_timeout || result.signal != 0) return "";
  return regular_file_bytes(folder.file(answer))
             ? read_file(folder.file(answer), kMaxImageBytes)
             : "";
}

std::string CellCompiler::log_of(const CellSource& source) {
  return ask(source, {"-fsyntax-only"}, "log");
}

std::string CellCompiler::macros_of(const CellSource& source) {
  prelude_of(options(), source.includes);
  const std::string key = prelude_key_ + source.text;
  // A header that is not read ahead may be another one by now.
  const bool may_change = source.text.find("include") != std::string::npos;
  if (may_change || macros_.empty() || key != macros_key_) {
    macros_ = ask(source, {"-E", "-dM", "-D__CUDACC__"}, "macros");
    macros_key_ = key;
  }
  return macros_;
}

HostImage CellCompiler::compile(const CellSource& source) {
  // Without this, exit would leave files and a compiler.
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
      run_process(command, log_file, folder.path(), kCompilerTimeout);
  // Runs after the first cell, whose caller waits.
  prelude.read_ahead();
  const std::string log = read_file(log_file, kMaxLogBytes);
  if (result.is_timeout)
    throw CompileError(
        concat(source.name, ": expected ", command[0], " to end within ",
               kCompilerTimeout.count(), " s"),
        log);
  const std::string image = folder.file("cell.so");
  const auto bytes = regular_file_bytes(image);
  if (result.exit_code > 0 || result.signal != 0 || !bytes)
    throw error_in(source.name, log);
  if (*bytes > kMaxImageBytes)
    throw CompileError(concat(source.name, ": expected at most ",
                              kMaxImageBytes, " bytes of code and data, got ",
                              *bytes, "; allocate large data instead"),
                       log);
  return make_host_image(read_file(image, kMaxImageBytes), source.name);
}

}  // namespace gpuos::host
