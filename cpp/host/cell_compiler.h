#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "host/host_image.h"
#include "host/temp_folder.h"

namespace gpuos::host {

/// A text that stands before many sources, for the compiler to read once.
///
/// It is read in a thread while sources are compiled that cannot wait for it.
/// Threads: any.
class Prelude {
 public:
  /// `command`: the compiler and the options that its users are compiled with.
  /// Throws: Error.
  Prelude(const std::vector<std::string>& command, const std::string& text);
  /// Ends a compiler that still reads it: who wants another text need not wait.
  ~Prelude();
  Prelude(const Prelude&) = delete;
  Prelude& operator=(const Prelude&) = delete;

  /// Starts the compiler. Later calls do nothing.
  void read_ahead();
  /// Wait until it has been read, or could not be.
  void wait() const;
  /// Returns the header for "-include" of compiled sources. It is source text
  /// until the compiler has precompiled it.
  std::string file() const;

 private:
  void read() noexcept;

  const std::vector<std::string> command_;
  const int process_;  // a fork has no right to the folder
  std::unique_ptr<TempFolder> folder_;
  std::shared_future<void> done_;
  std::atomic<bool> is_unwanted_{false};  // set by ~Prelude(), asked by read()
};

/// A piece of a program that grows while it runs.
struct CellSource {
  std::string name;      // for messages: "cell 3"
  std::string includes;  // lines of #include, which are precompiled
  std::string text;      // the remaining source
  std::string exports;   // pattern of the exported symbols
};

/// Compiles them with find_host_compiler().
///
/// Threads: one at a time.
class CellCompiler {
 public:
  /// `before` is put before every source. `flags` are for every compilation.
  CellCompiler(std::string before, std::vector<std::string> include_dirs,
               std::vector<std::string> flags)
      : before_(std::move(before)),
        include_dirs_(std::move(include_dirs)),
        flags_(std::move(flags)) {}

  void add_include_dir(const std::string& dir);
  /// Throws: CompileError with the first error's place and the log,
  /// BackendUnavailable without a compiler, Error, Cancelled.
  HostImage compile(const CellSource& source);
  /// Returns whether a text has an error, without output.
  /// Throws: as compile().
  void check(const std::string& text);
  /// Returns the compiler's log for a source. It is empty if the compiler was
  /// stopped.
  /// Throws: as compile().
  std::string log_of(const CellSource& source);
  /// Returns a "#define NAME text" for each macro that is defined after a
  /// source, for device code. It is empty if an include is missing. Throws: as
  /// compile().
  std::string macros_of(const CellSource& source);

 private:
  std::vector<std::string> options() const;
  std::string ask(const CellSource& source, const std::vector<std::string>& how,
                  const char* answer);
  Prelude& prelude_of(const std::vector<std::string>& command,
                      const std::string& includes);

  const std::string before_;
  std::vector<std::string> include_dirs_;
  const std::vector<std::string> flags_;
  std::string prelude_key_;
  std::shared_ptr<Prelude> prelude_;
  std::string macros_key_;  // the source that has macros_
  std::string macros_;
};

}  // namespace gpuos::host
