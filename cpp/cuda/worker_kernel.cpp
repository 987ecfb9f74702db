#include "cuda/worker_kernel.h"

#include <vector>

#include "base/concat.h"
#include "cuda/worker_image.h"
#include "driver/check.h"
#include "driver/owned.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

// The part of each thread's stack that the worker's own frames may take.
constexpr std::uint32_t kWorkerStackBytes = 256;

std::vector<WorkerImage> candidates(WorkerImage wanted) {
  if (wanted != WorkerImage::Auto) return {wanted};
  return {WorkerImage::Embedded, WorkerImage::Ptx, WorkerImage::Nvrtc};
}

int attribute_of(CUfunction function, CUfunction_attribute which) {
  int value = 0;
  GPUOS_CUDA_CHECK(driver().cuFuncGetAttribute(&value, which, function));
  return value;
}

}  // namespace

WorkerKernel::WorkerKernel(const Context& context, WorkerImage wanted)
    : multiprocessors_(context.multiprocessors()),
      table_(abi::kSlots * sizeof(OpFn)) {
  load(context, wanted);
  function_ = find_kernel("gpuos_worker");
  inline_function_ = find_kernel("gpuos_inline_worker");

  CUdeviceptr builtins = 0;
  std::size_t bytes = 0;
  GPUOS_CUDA_CHECK(driver().cuModuleGetGlobal(&builtins, &bytes, module_,
                                              "gpuos_builtin_table"));
  std::vector<char> pointers(bytes);
  GPUOS_CUDA_CHECK(driver().cuMemcpyDtoH(pointers.data(), builtins, bytes));
  const Stream stream = make_stream();
  GPUOS_CUDA_CHECK(driver().cuMemcpyHtoDAsync(entry(0), pointers.data(), bytes,
                                              stream.get()));
  GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream.get()));

  can_overlap_ = driver().cuLaunchKernelEx != nullptr &&
                 read_word("gpuos_worker_awaits") != 0;

  std::size_t stack = 0;
  GPUOS_CUDA_CHECK(driver().cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
  budget_.registers = static_cast<std::uint32_t>(
      attribute_of(function_, CU_FUNC_ATTRIBUTE_NUM_REGS));
  budget_.stack_bytes = static_cast<std::uint32_t>(stack) - kWorkerStackBytes;
}

void WorkerKernel::load(const Context& context, WorkerImage wanted) {
  check_capability(context.compute_capability());
  std::string tried;
  for (const WorkerImage kind : candidates(wanted)) {
    try {
      const LoadableWorker image =
          make_worker_image(kind, context.compute_capability());
      GPUOS_CUDA_CHECK(
          driver().cuModuleLoadData(&module_, image.binary.data()));
      image_kind_ = image.kind;
      return;
    } catch (const Error& error) {
      tried += concat(tried.empty() ? "" : "; ", error.what());
    }
  }
  throw BackendUnavailable(
      concat("cuda: no worker image for ", context.name(), ": ", tried));
}

CUfunction WorkerKernel::find_kernel(const char* name) const {
  CUfunction function = nullptr;
  GPUOS_CUDA_CHECK(driver().cuModuleGetFunction(&function, module_, name));
  // A resident worker fixes its multiprocessor's split between L1 and shared
  // memory. With all of it as shared memory, other kernels can run there too.
  GPUOS_CUDA_CHECK(driver().cuFuncSetAttribute(
      function, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100));
  return function;
}

std::uint32_t WorkerKernel::read_word(const char* name) const {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  std::uint32_t word = 0;
  GPUOS_CUDA_CHECK(driver().cuModuleGetGlobal(&address, &bytes, module_, name));
  GPUOS_CUDA_CHECK(driver().cuMemcpyDtoH(&word, address, sizeof(word)));
  return word;
}

WorkerKernel::~WorkerKernel() {
  if (module_ != nullptr) driver().cuModuleUnload(module_);
}

std::uint32_t WorkerKernel::max_workers(std::uint32_t threads) const {
  int blocks = 0;
  GPUOS_CUDA_CHECK(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function_, static_cast<int>(threads), abi::kSharedBytes));
  return static_cast<std::uint32_t>(blocks) * multiprocessors_;
}

void WorkerKernel::launch(const abi::Launch& launch, std::uint32_t workers,
                          std::uint32_t threads, CUstream stream,
                          bool overlaps) const {
  const CUfunction function =
      launch.mode == abi::kInlineBurst ? inline_function_ : function_;
  // The driver copies the parameters before it returns.
  void* parameters[] = {const_cast<abi::Launch*>(&launch)};
  if (overlaps && can_overlap_) {
    // Pairs with begin_burst() in device/burst.h.
    CUlaunchAttribute attribute{
        .id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        .pad = {},
        .value = {}};
    attribute.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config{.gridDimX = workers,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = threads,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .sharedMemBytes = abi::kSharedBytes,
                                .hStream = stream,
                                .attrs = &attribute,
                                .numAttrs = 1};
    GPUOS_CUDA_CHECK(
        driver().cuLaunchKernelEx(&config, function, parameters, nullptr));
    return;
  }
  GPUOS_CUDA_CHECK(driver().cuLaunchKernel(function, workers, 1, 1, threads, 1,
                                           1, abi::kSharedBytes, stream,
                                           parameters, nullptr));
}

void WorkerKernel::abandon() noexcept {
  module_ = nullptr;
  table_.abandon();
}

}  // namespace gpuos::cu
