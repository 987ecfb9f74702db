// The driver functions whose answer or effect the CUDA backend needs. Device
// memory is host memory, and copies are done before they return.
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <type_traits>

#include "device.h"
#include "driver_functions.h"
#include "modules.h"

namespace gpuos::cu {
namespace {

using sim::Device;
using sim::Modules;

// Held by a load until the device is idle, and by all that then has to wait.
std::mutex& driver_mutex() {
  static auto* const mutex = new std::mutex;
  return *mutex;
}

constexpr std::size_t kAlignment = 512;

void* allocate(std::size_t bytes) {
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  void* data = std::aligned_alloc(kAlignment, whole);
  if (data != nullptr) std::memset(data, 0, whole);
  Device::instance().note_held(1);
  return data;
}

void release(void* data) {
  Device::instance().note_held(-1);
  std::free(data);
}

template <typename T>
T* pointer_to(CUdeviceptr address) {
  return reinterpret_cast<T*>(address);
}

CUresult allocate_to(CUdeviceptr* pointer, std::size_t bytes) {
  *pointer = reinterpret_cast<CUdeviceptr>(allocate(bytes));
  return *pointer != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

template <typename T>
CUresult answer(T* to, std::type_identity_t<T> value) {
  *to = value;
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult create(Handle* handle) {
  static std::atomic<std::uintptr_t> last{0x1000};
  return answer(handle, reinterpret_cast<Handle>(++last));
}

/// Creates something that is held until it is destroyed.
template <typename Handle>
CUresult create_held(Handle* handle) {
  Device::instance().note_held(1);
  return create(handle);
}
CUresult destroy_held() {
  Device::instance().note_held(-1);
  return CUDA_SUCCESS;
}

CUresult copy(void* to, const void* from, std::size_t bytes) {
  const std::lock_guard lock(driver_mutex());
  std::memcpy(to, from, bytes);
  return CUDA_SUCCESS;
}

CUresult launch(void** parameters) {
  {
    const std::lock_guard lock(driver_mutex());
  }
  const auto& given = *static_cast<const abi::Launch*>(parameters[0]);
  abi::InlineLaunch launch{};
  if (given.mode == abi::kInlineBurst)
    launch = static_cast<const abi::InlineLaunch&>(given);
  else
    static_cast<abi::Launch&>(launch) = given;
  Device::instance().launch(launch);
  return CUDA_SUCCESS;
}

CUresult name_error(const char** text) {
  return answer(text, "an error of the simulator");
}

CUresult use_only_context(CUcontext* context) {
  return answer(context, reinterpret_cast<CUcontext>(std::uintptr_t{0x100}));
}

}  // namespace

CUresult cuGetErrorName(CUresult, const char** text) {
  return name_error(text);
}

CUresult cuGetErrorString(CUresult, const char** text) {
  return name_error(text);
}

CUresult cuDriverGetVersion(int* version) { return answer(version, 13000); }

CUresult cuDeviceGetCount(int* count) { return answer(count, 1); }

CUresult cuDeviceGet(CUdevice* device, int) { return answer(device, 0); }

CUresult cuDeviceGetName(char* name, int bytes, CUdevice) {
  std::strncpy(name, sim::Simulator::kDeviceName,
               static_cast<std::size_t>(bytes));
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute,
                              CUdevice) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      return answer(value, 9);
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      return answer(value, 0);
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      return answer(value, 132);
    default:
      return answer(value, 1);
  }
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  return use_only_context(context);
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return use_only_context(context);
}

CUresult cuCtxGetLimit(std::size_t* value, CUlimit) {
  return answer(value, 1024);
}

CUresult cuCtxSynchronize() {
  Device::instance().synchronize();
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const std::lock_guard lock(driver_mutex());
  Device::instance().load();
  *module = Modules::instance().load(image);
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned int,
                            CUjit_option*, void**) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleUnload(CUmodule module) {
  const std::lock_guard lock(driver_mutex());
  Modules::instance().unload(module, Device::instance().holds_events());
  Device::instance().synchronize();
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module,
                             const char* name) {
  const auto found = Modules::instance().function(module, name);
  if (!found) return CUDA_ERROR_NOT_FOUND;
  return answer(function, *found);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* pointer, std::size_t* bytes,
                              CUmodule module, const char* name) {
  static u64 nothing = 0;
  auto found = Modules::instance().variable(module, name);
  // The worker is PTX here.
  if (!found && std::string_view(name).starts_with("gpuos_"))
    found = {&nothing, sizeof nothing};
  if (!found) return CUDA_ERROR_NOT_FOUND;
  *pointer = reinterpret_cast<CUdeviceptr>(found->data);
  *bytes = found->bytes;
  return CUDA_SUCCESS;
}

// The worker's kernels take nothing.
CUresult cuFuncGetParamInfo(CUfunction function, std::size_t index,
                            std::size_t* offset, std::size_t* bytes) {
  const auto all = Modules::instance().parameter_bytes(function);
  if (index >= all.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = 8 * index;
  if (bytes != nullptr) *bytes = all[index];
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute, CUfunction) {
  return answer(value, 64);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction,
                                                     int, std::size_t) {
  return answer(blocks, 4);
}

CUresult cuLaunchKernel(CUfunction function, unsigned int grid, unsigned int,
                        unsigned int, unsigned int block, unsigned int,
                        unsigned int, unsigned int, CUstream stream,
                        void** parameters, void**) {
  const bool is_users =
      Modules::instance().launch(function, stream, grid, block, parameters);
  return is_users ? CUDA_SUCCESS : launch(parameters);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                          void** parameters, void**) {
  return cuLaunchKernel(function, config->gridDimX, 1, 1, config->blockDimX, 1,
                        1, 0, config->hStream, parameters, nullptr);
}

CUresult cuStreamCreate(CUstream* stream, unsigned int) {
  return create_held(stream);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned int, int) {
  return create_held(stream);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  Device::instance().capture(stream, true);
  return CUDA_SUCCESS;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  Device::instance().capture(stream, false);
  return create(graph);
}

// All capturing streams are treated as blocking for the legacy stream.
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  const bool is_legacy = stream == nullptr || stream == CU_STREAM_LEGACY;
  *status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_legacy)
    return Device::instance().captures_any()
               ? CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
               : CUDA_SUCCESS;
  if (Device::instance().captures(stream))
    *status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr to, std::uint64_t value,
                                 unsigned int) {
  std::atomic_ref(*pointer_to<u64>(to)).store(value);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned int) {
  return create_held(event);
}

CUresult cuStreamDestroy_v2(CUstream) { return destroy_held(); }

CUresult cuEventDestroy_v2(CUevent) { return destroy_held(); }

CUresult cuEventRecord(CUevent, CUstream stream) {
  const bool is_legacy = stream == nullptr || stream == CU_STREAM_LEGACY;
  if (!is_legacy || !Device::instance().captures_any()) return CUDA_SUCCESS;
  Device::instance().note_spoilt_capture();
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult cuEventQuery(CUevent) {
  return Device::instance().holds_events() ? CUDA_ERROR_NOT_READY
                                           : CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr* pointer, std::size_t bytes) {
  return allocate_to(pointer, bytes);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  const std::lock_guard lock(driver_mutex());
  Device::instance().synchronize();
  release(pointer_to<void>(pointer));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(CUdeviceptr* pointer, std::size_t bytes,
                           unsigned int) {
  return cuMemAlloc_v2(pointer, bytes);
}

CUresult cuMemAllocAsync(CUdeviceptr* pointer, std::size_t bytes, CUstream) {
  const std::lock_guard lock(driver_mutex());
  return allocate_to(pointer, bytes);
}

CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream) {
  const std::lock_guard lock(driver_mutex());
  release(pointer_to<void>(pointer));
  return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute, void* value) {
  return answer(static_cast<std::uint64_t*>(value), 0);
}

CUresult cuMemHostAlloc(void** pointer, std::size_t bytes, unsigned int) {
  *pointer = allocate(bytes);
  return *pointer != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuMemFreeHost(void* pointer) {
  const std::lock_guard lock(driver_mutex());
  Device::instance().synchronize();
  release(pointer);
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttributes(unsigned int count,
                                CUpointer_attribute* attributes, void** values,
                                CUdeviceptr) {
  const std::lock_guard lock(driver_mutex());
  for (unsigned int i = 0; i < count; ++i) {
    const bool is_type = attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
    *static_cast<unsigned int*>(values[i]) =
        is_type ? CU_MEMORYTYPE_DEVICE : 0u;
  }
  return CUDA_SUCCESS;
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t bytes) {
  return copy(pointer_to<void>(to), from, bytes);
}

CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t bytes) {
  return copy(to, pointer_to<void>(from), bytes);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from,
                              std::size_t bytes, CUstream) {
  return copy(pointer_to<void>(to), from, bytes);
}

CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t bytes,
                              CUstream) {
  return copy(to, pointer_to<void>(from), bytes);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count,
                         CUstream) {
  const std::lock_guard lock(driver_mutex());
  std::memset(pointer_to<void>(to), value, count);
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from,
                              std::size_t bytes, CUstream) {
  return copy(pointer_to<void>(to), pointer_to<void>(from), bytes);
}

}  // namespace gpuos::cu
