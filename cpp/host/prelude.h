#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "host/temp_folder.h"

namespace gpuos::host {

/// A common prefix of many sources, which the compiler reads once.
///
/// A thread reads it while sources are compiled that cannot wait for it.
/// Threads: any.
class Prelude {
 public:
  /// `command`: the compiler and the options that its users are compiled with.
  /// Throws: Error.
  Prelude(const std::vector<std::string>& command, const std::string& text);
  /// Ends a compiler that still reads it, so users of another text need not
  /// wait.
  ~Prelude();
  Prelude(const Prelude&) = delete;
  Prelude& operator=(const Prelude&) = delete;

  /// Has the compiler begin; later calls do nothing.
  void read_ahead();
  /// Wait until it has been read, or could not be.
  void wait() const;
  /// Compiled sources need "-include" with it; as text until it has been read.
  std::string file() const;

 private:
  void read() noexcept;

  const std::vector<std::string> command_;
  const int process_;  // a fork has no right to the folder
  std::unique_ptr<TempFolder> folder_;
  std::shared_future<void> done_;
  std::atomic<bool> is_unwanted_{false};  // set by ~Prelude(), asked by read()
};

}  // namespace gpuos::host
