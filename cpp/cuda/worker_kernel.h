#pragma once

#include <cstdint>
#include <string>

#include "cuda/ring_memory.h"
#include "device/launch.h"
#include "driver/context.h"
#include "gpuos/options.h"
#include "jit/objects/image.h"

namespace gpuos::cu {

/// The loaded worker kernel and the operator table that it calls through.
class WorkerKernel {
 public:
  /// Throws: BackendUnavailable, CompileError, CudaError.
  WorkerKernel(const Context& context, WorkerImage wanted);
  ~WorkerKernel();
  WorkerKernel(const WorkerKernel&) = delete;
  WorkerKernel& operator=(const WorkerKernel&) = delete;

  /// "embedded", "ptx" or "nvrtc".
  const std::string& image_kind() const noexcept { return image_kind_; }
  /// Returns the resources that an operator may use, read from the loaded
  /// kernel.
  const jit::Budget& budget() const noexcept { return budget_; }
  /// Workers of `threads` threads that fit on the device together.
  std::uint32_t max_workers(std::uint32_t threads) const;

  const OpFn* table() const noexcept { return table_.as<OpFn>(); }
  CUdeviceptr entry(std::uint32_t slot) const noexcept {
    return table_.address() + slot * sizeof(OpFn);
  }

  /// `overlaps`: a burst that may be put on the device while the launch before
  /// it in `stream` still runs; its tasks come after it all the same. A
  /// kInlineBurst is an abi::InlineLaunch.
  /// Throws: CudaError.
  void launch(const abi::Launch& launch, std::uint32_t workers,
              std::uint32_t threads, CUstream stream,
              bool overlaps = false) const;
  void abandon() noexcept;

 private:
  CUfunction find_kernel(const char* name) const;
  void load(const Context& context, WorkerImage wanted);
  /// Reads a variable of the image.
  std::uint32_t read_word(const char* name) const;

  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CUfunction inline_function_ = nullptr;
  std::string image_kind_;
  jit::Budget budget_;
  std::uint32_t multiprocessors_;
  bool can_overlap_ = false;
  DeviceBuffer table_;
};

}  // namespace gpuos::cu
