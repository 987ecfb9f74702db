#include "session/host_memory.h"

#include <algorithm>
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
  if (code != cudaSuccess && code != cudaErrorNotReady) last_ = code;
  return code;
}

cudaError_t HostMemory::allocate(void** pointer, std::size_t bytes,
                                 MemoryPlace kind) {
  return guard([&] {
    if (pointer == nullptr) return cudaErrorInvalidValue;
    *pointer = nullptr;
    if (bytes == 0) return cudaSuccess;
    // Without this attribute the driver moves pages. Then the host must not
    // touch them while a worker of a runtime runs.
    if (kind == MemoryPlace::Managed &&
        device_.context().attribute(
            cu::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS) == 0)
      return cudaErrorNotSupported;
    // The allocation may wait for anything that runs on the device.
    const auto address = std::make_shared<void*>(nullptr);
    const cu::Context& context = device_.context();
    cu::Parking::instance().run_parked(device_.ordinal(), [address, bytes, kind,
                                                           &context] {
      const cu::ContextScope scope(context);
      const cu::DriverApi& api = cu::driver();
      cu::CUdeviceptr made = 0;
      switch (kind) {
        case MemoryPlace::OnDevice:
          GPUOS_CUDA_CHECK(api.cuMemAlloc(&made, bytes));
          break;
        case MemoryPlace::Managed:
          GPUOS_CUDA_CHECK(
              api.cuMemAllocManaged(&made, bytes, cu::CU_MEM_ATTACH_GLOBAL));
          break;
        case MemoryPlace::Pinned:
          GPUOS_CUDA_CHECK(api.cuMemHostAlloc(
              address.get(), bytes,
              cu::CU_MEMHOSTALLOC_PORTABLE | cu::CU_MEMHOSTALLOC_DEVICEMAP));
          return;
      }
      *address = pointer_to(made);
    });
    *pointer = *address;
    memory_[*pointer] = kind;
    return cudaSuccess;
  });
}

void HostMemory::free(void* pointer, MemoryPlace kind) const {
  const cu::Context& context = device_.context();
  cu::Parking::instance().run_parked(
      device_.ordinal(), [pointer, kind, &context] {
        const cu::ContextScope scope(context);
        if (kind == MemoryPlace::Pinned) {
          GPUOS_CUDA_CHECK(cu::driver().cuMemFreeHost(pointer));
        } else {
          GPUOS_CUDA_CHECK(cu::driver().cuMemFree(on_device(pointer)));
        }
      });
}

cudaError_t HostMemory::release(void* pointer, MemoryPlace kind) {
  return guard([&] {
    if (pointer == nullptr) return cudaSuccess;
    free(pointer, kind);
    memory_.erase(pointer);
    return cudaSuccess;
  });
}

cudaError_t HostMemory::reset() {
  if (memory_.empty() && streams_.empty() && events_.empty())
    return cudaSuccess;
  return guard([&] {
    const cu::DriverApi& api = cu::driver();
    const auto is_at_work = [&](void* stream) {
      return api.cuStreamQuery(cu::handle_of(Stream(stream))) !=
             cu::CUDA_SUCCESS;
    };
    // Freeing would wait, perhaps for ever.
    if (cu::Parking::instance().is_stuck(device_.ordinal()) ||
        is_at_work(nullptr) || std::ranges::any_of(streams_, is_at_work))
      return cudaErrorNotReady;
    for (void* const event : std::exchange(events_, {}))
      GPUOS_CUDA_CHECK(api.cuEventDestroy(static_cast<cu::CUevent>(event)));
    streams_of_events_.clear();
    for (void* const stream : std::exchange(streams_, {}))
      GPUOS_CUDA_CHECK(api.cuStreamDestroy(cu::handle_of(Stream(stream))));
    for (const auto& [pointer, kind] : std::exchange(memory_, {}))
      free(pointer, kind);
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
    for (void* const stream : streams_) wait_for(stream);
    return cudaSuccess;
  });
}

void HostMemory::wait_for(void* stream) const {
  gpuos::synchronize(Stream(stream), device_.ordinal());
}

cudaError_t HostMemory::order(gpuos_host::DriverCall what, void* first,
                              void* second, void* made) {
  using gpuos_host::DriverCall;
  return guard([&] {
    const cu::DriverApi& api = cu::driver();
    const auto stream_of = [](void* stream) {
      return cu::handle_of(stream == nullptr ? Stream() : Stream(stream));
    };
    const auto event = static_cast<cu::CUevent>(first);
    switch (what) {
      case DriverCall::MakeStream: {
        cu::CUstream stream = nullptr;
        GPUOS_CUDA_CHECK(api.cuStreamCreate(&stream, 0));
        streams_.insert(stream);
        *static_cast<void**>(made) = stream;
        return cudaSuccess;
      }
      case DriverCall::EndStream:
        if (streams_.erase(first) == 0) return cudaErrorInvalidResourceHandle;
        GPUOS_CUDA_CHECK(api.cuStreamDestroy(stream_of(first)));
        return cudaSuccess;
      case DriverCall::WaitForStream:
        wait_for(first);
        return cudaSuccess;
      case DriverCall::QueryStream:
        return static_cast<cudaError_t>(api.cuStreamQuery(stream_of(first)));
      case DriverCall::MakeEvent:
        GPUOS_CUDA_CHECK(api.cuEventCreate(static_cast<cu::CUevent*>(made), 0));
        events_.insert(*static_cast<void**>(made));
        return cudaSuccess;
      case DriverCall::EndEvent:
        if (events_.erase(first) == 0) return cudaErrorInvalidResourceHandle;
        streams_of_events_.erase(first);
        GPUOS_CUDA_CHECK(api.cuEventDestroy(event));
        return cudaSuccess;
      case DriverCall::Record:
        GPUOS_CUDA_CHECK(api.cuEventRecord(event, stream_of(second)));
        streams_of_events_[first] = second;
        return cudaSuccess;
      case DriverCall::WaitForEvent:
        // Ctrl-C ends this wait, but no wait of the driver.
        if (const auto found = streams_of_events_.find(first);
            found != streams_of_events_.end())
          wait_for(found->second);
        return cudaSuccess;
      case DriverCall::QueryEvent:
        return static_cast<cudaError_t>(api.cuEventQuery(event));
      case DriverCall::StreamWaits:
        GPUOS_CUDA_CHECK(api.cuStreamWaitEvent(
            stream_of(first), static_cast<cu::CUevent>(second), 0));
        return cudaSuccess;
      case DriverCall::Elapsed:
        GPUOS_CUDA_CHECK(
            api.cuEventElapsedTime(static_cast<float*>(made), event,
                                   static_cast<cu::CUevent>(second)));
        return cudaSuccess;
      case DriverCall::Attribute:
        *static_cast<int*>(made) = device_.context().attribute(
            *static_cast<cu::CUdevice_attribute*>(first));
        return cudaSuccess;
      case DriverCall::DeviceName:
        std::strncpy(static_cast<char*>(made), device_.context().name().c_str(),
                     255);
        return cudaSuccess;
      case DriverCall::MemorySizes:
        GPUOS_CUDA_CHECK(api.cuMemGetInfo(static_cast<std::size_t*>(first),
                                          static_cast<std::size_t*>(second)));
        return cudaSuccess;
      case DriverCall::Reset:
        return reset();
    }
    return cudaErrorInvalidValue;
  });
}

cudaError_t HostMemory::last_error(bool is_kept) {
  // Without a device every call returns cudaErrorNoDevice.
  try {
    device_.context();
  } catch (const BackendUnavailable&) {
    return cudaErrorNoDevice;
  }
  return is_kept ? last_ : std::exchange(last_, cudaSuccess);
}

}  // namespace gpuos::session
