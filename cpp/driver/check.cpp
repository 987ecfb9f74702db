#include "driver/check.h"

#include <string>
#include <string_view>

#include "base/concat.h"
#include "driver/driver_api.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

// "cuMemAlloc" from "driver().cuMemAlloc(&pointer, bytes)".
std::string function_name(std::string_view call) {
  std::size_t begin = 0;
  for (std::size_t at = call.find("cu"); at != std::string_view::npos;
       at = call.find("cu", at + 1)) {
    const bool starts_word =
        at == 0 || call[at - 1] == '.' || call[at - 1] == '>';
    if (starts_word) {
      begin = at;
      break;
    }
  }
  const std::size_t end = call.find('(', begin);
  return std::string(call.substr(begin, end - begin));
}

std::string describe(CUresult status) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (const DriverApi* api = try_driver()) {
    if (api->cuGetErrorName(status, &name) != CUDA_SUCCESS) name = nullptr;
    if (api->cuGetErrorString(status, &text) != CUDA_SUCCESS) text = nullptr;
  }
  if (name == nullptr) return concat("error ", static_cast<int>(status));
  return text == nullptr ? std::string(name) : concat(name, " (", text, ")");
}

}  // namespace

void check_cuda(CUresult status, const char* call) {
  if (status == CUDA_SUCCESS) return;
  std::string name = function_name(call);
  const std::string message = concat(name, ": ", describe(status));
  throw CudaError(status, std::move(name), message);
}

bool check_ready(CUresult status, const char* call) {
  if (status == CUDA_ERROR_NOT_READY) return false;
  check_cuda(status, call);
  return true;
}

bool is_sticky(int code) noexcept {
  switch (code) {
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_UNKNOWN:
      return true;
    default:
      return false;
  }
}

}  // namespace gpuos::cu
