#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gpuos::host {

struct ProcessResult {
  bool is_timeout = false;
  /// -1: a signal ended it, or other code of this process collected it.
  int exit_code = -1;
  int signal = 0;  // that ended it
};

/// Run a program without a shell and wait for it; it gets no input and its
/// output goes to the file `log`. When time is over, this process ends or this
/// thread is interrupted, it is killed with all its children. `temp_folder` is
/// its TMPDIR, and its messages are in English. `yields`: processors go to
/// others first.
/// Throws: Error if it cannot be started; Cancelled.
ProcessResult run_process(const std::vector<std::string>& command,
                          const std::string& log,
                          const std::string& temp_folder,
                          std::chrono::milliseconds timeout,
                          bool yields = false);

}  // namespace gpuos::host
