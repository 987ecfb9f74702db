#pragma once

#include <cstdint>
#include <string>

#include "base/process_exit.h"
#include "driver/driver_api.h"

namespace gpuos::cu {

/// The primary context of one device, which PyTorch, CuPy and the CUDA runtime
/// use too.
///
/// Lifetime: the context is never released: other libraries of the process may
/// use it to the end.
class Context {
 public:
  /// Throws: BackendUnavailable, CudaError.
  explicit Context(int ordinal);

  CUcontext get() const noexcept { return context_; }
  CUdevice device() const noexcept { return device_; }
  int ordinal() const noexcept { return ordinal_; }
  int attribute(CUdevice_attribute which) const;
  std::string name() const;
  /// major * 10 + minor
  int compute_capability() const;
  std::uint32_t multiprocessors() const;

 private:
  int ordinal_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

/// Makes a context current for this thread while it lives.
/// Throws: CudaError.
class CurrentContext {
 public:
  explicit CurrentContext(const Context& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const HoldsExit hold_{HoldsExit::For::kDriver};
  bool is_pushed_ = false;
};

/// Makes a context current. Calls in the scope do not invalidate a graph that
/// another thread captures. A launch into another stream never does.
class ContextScope {
 public:
  explicit ContextScope(const Context& context);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  CurrentContext current_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

}  // namespace gpuos::cu
