// Waits for all launches in a stream.
#include <chrono>
#include <thread>

#include "base/interruptible.h"
#include "driver/check.h"
#include "driver/context.h"
#include "driver/owned.h"
#include "gpuos/interrupt.h"
#include "gpuos/jit_module.h"
#include "modules/loaded_kernel.h"

namespace gpuos {
namespace {

using Clock = std::chrono::steady_clock;

// No pause at first: most waits are short.
constexpr std::chrono::milliseconds kPolling{1};
constexpr std::chrono::microseconds kPause{20};

// The driver's own wait cannot be ended.
void poll(cu::CUstream stream) {
  const cu::Event behind = cu::make_event();
  GPUOS_CUDA_CHECK(cu::driver().cuEventRecord(behind.get(), stream));
  const Clock::time_point pauses = Clock::now() + kPolling;
  while (!GPUOS_CUDA_READY(cu::driver().cuEventQuery(behind.get()))) {
    Interrupt::check("synchronize");
    if (Clock::now() >= pauses) std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

void synchronize(Stream stream, int device) {
  const cu::ContextScope scope(cu::device_context(device));
  const cu::CUstream handle = cu::handle_of(stream);
  if (is_interruptible()) {
    poll(handle);
  } else {
    GPUOS_CUDA_CHECK(cu::driver().cuStreamSynchronize(handle));
  }
}

}  // namespace gpuos
