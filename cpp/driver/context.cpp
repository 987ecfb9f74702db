#include "driver/context.h"

#include <array>

#include "base/concat.h"
#include "driver/check.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

/// Throws an error that has backend="auto" take the host, as without a driver.
void check_start(CUresult status, const char* call) {
  try {
    check_cuda(status, call);
  } catch (const CudaError& error) {
    throw BackendUnavailable(concat("cuda: expected a driver that starts, got ",
                                    error.what(),
                                    "; check it with nvidia-smi"));
  }
}

}  // namespace

Context::Context(int ordinal) : ordinal_(ordinal) {
  const CUresult status = driver().cuInit(0);
  if (status == CUDA_ERROR_NO_DEVICE)
    throw BackendUnavailable("cuda: expected a GPU, the driver found none");
  check_start(status, "cuInit(0)");
  expect_process_exit();
  int count = 0;
  check_start(driver().cuDeviceGetCount(&count), "cuDeviceGetCount(&count)");
  if (count == 0)
    throw BackendUnavailable("cuda: expected a GPU, the driver found none");
  if (ordinal < 0 || ordinal >= count)
    throw InvalidArgument(concat("Runtime: device: expected 0 to ", count - 1,
                                 ", got ", ordinal));
  GPUOS_CUDA_CHECK(driver().cuDeviceGet(&device_, ordinal));
  check_start(driver().cuDevicePrimaryCtxRetain(&context_, device_),
              "cuDevicePrimaryCtxRetain(&context_, device_)");
}

int Context::attribute(CUdevice_attribute which) const {
  int value = 0;
  GPUOS_CUDA_CHECK(driver().cuDeviceGetAttribute(&value, which, device_));
  return value;
}

std::string Context::name() const {
  std::array<char, 256> text{};
  GPUOS_CUDA_CHECK(driver().cuDeviceGetName(
      text.data(), static_cast<int>(text.size()), device_));
  return text.data();
}

int Context::compute_capability() const {
  return attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
         attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
}

std::uint32_t Context::multiprocessors() const {
  return static_cast<std::uint32_t>(
      attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
}

CurrentContext::CurrentContext(const Context& context) {
  CUcontext current = nullptr;
  GPUOS_CUDA_CHECK(driver().cuCtxGetCurrent(&current));
  if (current == context.get()) return;
  GPUOS_CUDA_CHECK(driver().cuCtxPushCurrent(context.get()));
  is_pushed_ = true;
}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  if (is_pushed_) driver().cuCtxPopCurrent(&popped);
}

ContextScope::ContextScope(const Context& context) : current_(context) {
  driver().cuThreadExchangeStreamCaptureMode(&mode_);
}

ContextScope::~ContextScope() {
  driver().cuThreadExchangeStreamCaptureMode(&mode_);
}

}  // namespace gpuos::cu
