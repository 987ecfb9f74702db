#pragma once

namespace gpuos {

/// Returns whether exit() has begun: what takes long gives up then.
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
/// threads use them. For as long as one lives that was made before exit()
/// began, exit() waits: for a compiler, which ends, a minute at most; for the
/// driver, which may wait for an endless kernel, some seconds.
class HoldsExit {
 public:
  enum class For : unsigned char { kDriver, kCompiler };

  explicit HoldsExit(For what) noexcept;
  ~HoldsExit();
  HoldsExit(const HoldsExit&) = delete;
  HoldsExit& operator=(const HoldsExit&) = delete;

 private:
  const For what_;
  bool holds_ = false;
};

/// Refuses work that begins under a HoldsExit and may fail. Threads that only
/// launch or wait need the driver and are not refused.
/// Throws: Error when the process ends, but not in the thread that ends it.
void refuse_at_exit();

}  // namespace gpuos
