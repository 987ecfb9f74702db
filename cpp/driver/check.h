#pragma once

#include "driver/driver_types.h"

namespace gpuos::cu {

/// Throws: CudaError unless `status` is CUDA_SUCCESS. `call` is the text of the
/// call. The message keeps its function name.
void check_cuda(CUresult status, const char* call);

/// For queries: false if `status` is CUDA_ERROR_NOT_READY.
/// Throws: CudaError for any other failure.
bool check_ready(CUresult status, const char* call);

/// Returns whether a failure is one of work that ran: every later call fails
/// too. Others, as of a launch into a spoilt capture, concern the call alone.
bool is_sticky(int code) noexcept;

#define GPUOS_CUDA_CHECK(call) ::gpuos::cu::check_cuda((call), #call)
#define GPUOS_CUDA_READY(call) ::gpuos::cu::check_ready((call), #call)

}  // namespace gpuos::cu
