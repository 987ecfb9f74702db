#pragma once

namespace gpuos {

/// Whether exit() has begun: what takes long gives up then.
/// Threads: any.
bool is_process_exiting() noexcept;

/// Say that a library was loaded that tears itself down at exit(): exit() calls
/// first what was registered last. Where main()'s thread ends the process,
/// being loaded by it is enough.
void expect_process_exit() noexcept;

/// Has exit() call `stop` when it begins, before anything is torn down; one for
/// the process.
void at_process_exit(void (*stop)() noexcept) noexcept;

/// exit() tears down compilers, the driver and our own state while other
/// threads use them. For as long as one of these lives exit() waits, some
/// seconds at most; when it has begun, no other thread gets one.
class HoldsExit {
 public:
  /// Throws: Error when the process ends.
  HoldsExit();
  ~HoldsExit();
  HoldsExit(const HoldsExit&) = delete;
  HoldsExit& operator=(const HoldsExit&) = delete;
};

}  // namespace gpuos
