#pragma once

namespace gpuos {

/// Returns whether exit() has begun. Long operations then stop.
/// Threads: any.
bool is_process_exiting() noexcept;

/// Must be called after loading a library that tears itself down at exit():
/// exit() first calls the last registered function. If main()'s thread ends the
/// process, loading the library there is enough.
void expect_process_exit() noexcept;

/// Makes exit() call `stop` when it begins, before anything is torn down. The
/// process has one such function.
void at_process_exit(void (*stop)() noexcept) noexcept;

/// exit() tears down compilers, the driver and our own state while other
/// threads use them. While an object that was made before exit() lives, exit()
/// waits. It waits a minute at most for a compiler, which ends. It waits some
/// seconds for the driver, which may wait for an endless kernel.
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
