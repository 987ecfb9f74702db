#include "session/host_memory.h"

#include <cstring>
#include <memory>
#include <utility>

#include "driver/check.h"
#include "driver/driver_api.h"
#include "gpuos/error.h"
#include "modules/loaded_kernel.h"
#include "modules/parking.h"

namespace gpuos::session {
namespace {

// NOLINTBEGIN(performance-no-int-to-ptr): the driver has integers
cu::CUdeviceptr on_device(const void* pointer) {
  return reinterpret_cast<cu::CUdeviceptr>(pointer);
}
void* pointer_to(cu::CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}
// NOLINTEND(performance-no-int-to-ptr)

bool is_of_device(const void* pointer) {
  unsigned int type = 0;
  return cu::driver().cuPointerGetAttribute(
             &type, cu::CU_POINTER_ATTRIBUTE_MEMORY_TYPE, on_device(pointer)) ==
             cu::CUDA_SUCCESS &&
         type == cu::CU_MEMORYTYPE_DEVICE;
}

cudaMemcpyKind kind_of(const void* to, const void* from) {
  if (is_of_device(to))
    return is_of_device(from) ? cudaMemcpyDeviceToDevice
                              : cudaMemcpyHostToDevice;
  return is_of_device(from) ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

}  // namespace

template <typename Work>
cudaError_t HostMemory::guard(Work work) {
  cudaError_t code = cudaSuccess;
  try {
    const cu::ContextScope scope(device_.context());
    code = work();
  } catch (const BackendUnavailable&) {
    code = cudaErrorNoDevice;
  } catch (const CudaError& error) {
    code = static_cast<cudaError_t>(error.code());
  } catch (const InvalidArgument&) {
    code = cudaErrorInvalidValue;
  }
  if (code != cudaSuccess) last_ = code;
  return code;
}

cudaError_t HostMemory::allocate(void** pointer, std::size_t bytes) {
  return guard([&] {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    // It may wait for whatever runs on the device.
    const auto address = std::make_shared<cu::CUdeviceptr>(0);
    const cu::Context& context = device_.context();
    cu::Parking::instance().run_parked(
        device_.ordinal(), [address, bytes, &context] {
          const cu::ContextScope scope(context);
          GPUOS_CUDA_CHECK(cu::driver().cuMemAlloc(address.get(), bytes));
        });
    *pointer = pointer_to(*address);
    return cudaSuccess;
  });
}

cudaError_t HostMemory::release(void* pointer) {
  return guard([&] {
    if (pointer == nullptr) return cudaSuccess;
    const cu::Context& context = device_.context();
    cu::Parking::instance().run_parked(device_.ordinal(), [pointer, &context] {
      const cu::ContextScope scope(context);
      GPUOS_CUDA_CHECK(cu::driver().cuMemFree(on_device(pointer)));
    });
    return cudaSuccess;
  });
}

cudaError_t HostMemory::copy(void* to, const void* from, std::size_t bytes,
                             int kind) {
  return guard([&] {
    if (bytes == 0) return cudaSuccess;
    if (kind == cudaMemcpyDefault) kind = kind_of(to, from);
    switch (kind) {
      case cudaMemcpyHostToHost:
        device_.synchronize();
        std::memcpy(to, from, bytes);
        return cudaSuccess;
      case cudaMemcpyHostToDevice:
        GPUOS_CUDA_CHECK(cu::driver().cuMemcpyHtoD(on_device(to), from, bytes));
        return cudaSuccess;
      case cudaMemcpyDeviceToHost:
        GPUOS_CUDA_CHECK(cu::driver().cuMemcpyDtoH(to, on_device(from), bytes));
        return cudaSuccess;
      case cudaMemcpyDeviceToDevice:
        GPUOS_CUDA_CHECK(cu::driver().cuMemcpyDtoDAsync(
            on_device(to), on_device(from), bytes, cu::handle_of({})));
        return cudaSuccess;
      default:
        return cudaErrorInvalidValue;
    }
  });
}

cudaError_t HostMemory::fill(void* to, int value, std::size_t bytes) {
  return guard([&] {
    if (bytes != 0)
      GPUOS_CUDA_CHECK(cu::driver().cuMemsetD8Async(
          on_device(to), static_cast<unsigned char>(value), bytes,
          cu::handle_of({})));
    return cudaSuccess;
  });
}

cudaError_t HostMemory::synchronize() {
  return guard([&] {
    device_.synchronize();
    return cudaSuccess;
  });
}

cudaError_t HostMemory::take_last_error() {
  // Without a device every answer is that there is none.
  try {
    device_.context();
  } catch (const BackendUnavailable&) {
    return cudaErrorNoDevice;
  }
  return std::exchange(last_, cudaSuccess);
}

}  // namespace gpuos::session
