// Helpers of the CUDA backend's tests: a GPU or a reason to skip, foreign
// kernels, and a blocked stream.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract.h"
#include "cuda/ring_memory.h"
#include "driver/context.h"
#include "driver/owned.h"
#include "jit/linker.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"

namespace gpuos::cu {

using namespace std::chrono_literals;

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Kernels that are unknown to gpuos.
class ForeignKernels {
 public:
  explicit ForeignKernels(const Context& context) {
    const jit::Nvrtc& nvrtc = jit::nvrtc();
    const jit::Target target =
        jit::choose_target(nvrtc, context.compute_capability(), "");
    const std::array objects{jit::compile_unit(
        nvrtc, {.source = kSource, .file_name = "foreign.cu"}, target)};
    const std::string cubin = jit::link_objects(nvrtc, objects, target, 0);
    GPUOS_CUDA_CHECK(driver().cuModuleLoadData(&module_, cubin.data()));
    GPUOS_CUDA_CHECK(
        driver().cuModuleGetFunction(&ramp_, module_, "foreign_ramp"));
    GPUOS_CUDA_CHECK(
        driver().cuModuleGetFunction(&stand_, module_, "foreign_stand"));
    // Loading at the first launch would wait for work that must run meanwhile.
    for (CUfunction function : {ramp_, stand_}) {
      int registers = 0;
      GPUOS_CUDA_CHECK(driver().cuFuncGetAttribute(
          &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function));
      if (driver().cuFuncLoad != nullptr)
        GPUOS_CUDA_CHECK(driver().cuFuncLoad(function));
    }
  }
  ~ForeignKernels() { driver().cuModuleUnload(module_); }
  ForeignKernels(const ForeignKernels&) = delete;
  ForeignKernels& operator=(const ForeignKernels&) = delete;

  /// x[i] = first + i
  void ramp(std::int32_t* x, std::size_t size, std::int32_t first,
            CUstream stream) const {
    auto count = static_cast<unsigned>(size);
    void* parameters[] = {&x, &count, &first};
    GPUOS_CUDA_CHECK(driver().cuLaunchKernel(ramp_, (count + 127) / 128, 1, 1,
                                             128, 1, 1, 0, stream, parameters,
                                             nullptr));
  }
  /// One thread that stays until `*flag` is set, or for 20 s.
  void stand(std::uint32_t* flag, CUstream stream) const {
    void* parameters[] = {&flag};
    GPUOS_CUDA_CHECK(driver().cuLaunchKernel(stand_, 1, 1, 1, 1, 1, 1, 0,
                                             stream, parameters, nullptr));
  }

 private:
  static constexpr std::string_view kSource = R"(
extern "C" __global__ void foreign_ramp(int* x, unsigned count, int first) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) x[i] = first + (int)i;
}
extern "C" __global__ void foreign_stand(volatile unsigned* flag) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (*flag == 0 && now - start < 20000000000ull);
}
)";

  CUmodule module_ = nullptr;
  CUfunction ramp_ = nullptr;
  CUfunction stand_ = nullptr;
};

/// Holds up a stream until it is opened.
class Gate {
 public:
  Gate(const ForeignKernels& kernels, CUstream stream) : flag_(4) {
    kernels.stand(flag_.as<std::uint32_t>(), stream);
  }
  ~Gate() {
    open();
    driver().cuCtxSynchronize();  // before the flag is freed
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  void open() { std::atomic_ref(*flag_.as<std::uint32_t>()).store(1); }

 private:
  PinnedBuffer flag_;
};

/// Needs a GPU and NVRTC. The device's context is current.
class CudaTest : public testing::Test {
 protected:
  using Ints = std::vector<std::int32_t>;

  void SetUp() override {
    try {
      context_.emplace(0);
      GPUOS_CUDA_CHECK(driver().cuCtxSetCurrent(context_->get()));
      kernels_.emplace(*context_);
    } catch (const BackendUnavailable& error) {
      if (std::getenv("GPUOS_TEST_CUDA") != nullptr) throw;
      GTEST_SKIP() << error.what();
    }
  }
  void TearDown() override { runtime_.reset(); }

  static RuntimeOptions cuda_options(Residency residency = Residency::Auto) {
    RuntimeOptions options;
    options.backend = "cuda";
    options.residency = residency;
    return options;
  }
  Runtime& start(const RuntimeOptions& options) {
    runtime_.reset();
    runtime_ = std::make_unique<Runtime>(options);
    return *runtime_;
  }
  Runtime& start(Residency residency = Residency::Auto) {
    return start(cuda_options(residency));
  }
  Runtime& runtime() { return *runtime_; }
  const ForeignKernels& kernels() const { return *kernels_; }

  /// Sets every element of `x`.
  Ticket fill(const TensorView& x, std::int32_t value,
              gpuos::Stream stream = {}) {
    const Scalar scalar(value);
    return runtime().submit(runtime().find("fill"), {}, x, {&scalar, 1},
                            stream);
  }
  Ticket copy(const TensorView& from, const TensorView& to,
              gpuos::Stream stream = {}) {
    return runtime().submit(runtime().find("copy"), {&from, 1}, to, {}, stream);
  }
  Ticket add(const TensorView& a, const TensorView& b, const TensorView& out,
             gpuos::Stream stream = {}) {
    const std::array inputs{a, b};
    return runtime().submit(runtime().find("add"), inputs, out, {}, stream);
  }

  static gpuos::Stream named(const Stream& stream) {
    return gpuos::Stream(stream.get());
  }
  static CUdeviceptr address_of(const void* data) {
    return reinterpret_cast<CUdeviceptr>(data);
  }
  static std::size_t free_bytes() {
    std::size_t free = 0;
    std::size_t total = 0;
    GPUOS_CUDA_CHECK(driver().cuMemGetInfo(&free, &total));
    return free;
  }

  std::optional<Context> context_;
  std::optional<ForeignKernels> kernels_;
  std::unique_ptr<Runtime> runtime_;
};

/// The same test for each way to run workers.
class CudaResidencyTest : public CudaTest,
                          public testing::WithParamInterface<Residency> {};

}  // namespace gpuos::cu
