#pragma once

#include "driver/driver_types.h"

namespace gpuos::cu {

// X(name, exported symbol, parameters...). The symbol carries the version that
// the parameters belong to.
#define GPUOS_DRIVER_FUNCTIONS(X)                                              \
  X(cuInit, cuInit, unsigned int flags)                                        \
  X(cuDriverGetVersion, cuDriverGetVersion, int* version)                      \
  X(cuGetErrorName, cuGetErrorName, CUresult error, const char** text)         \
  X(cuGetErrorString, cuGetErrorString, CUresult error, const char** text)     \
  X(cuDeviceGet, cuDeviceGet, CUdevice* device, int ordinal)                   \
  X(cuDeviceGetCount, cuDeviceGetCount, int* count)                            \
  X(cuDeviceGetName, cuDeviceGetName, char* name, int bytes, CUdevice device)  \
  X(cuDeviceGetAttribute, cuDeviceGetAttribute, int* value,                    \
    CUdevice_attribute attribute, CUdevice device)                             \
  X(cuDeviceTotalMem, cuDeviceTotalMem_v2, std::size_t* bytes,                 \
    CUdevice device)                                                           \
  X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, CUcontext* context,    \
    CUdevice device)                                                           \
  X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, CUdevice device)  \
  X(cuCtxPushCurrent, cuCtxPushCurrent_v2, CUcontext context)                  \
  X(cuCtxPopCurrent, cuCtxPopCurrent_v2, CUcontext* context)                   \
  X(cuCtxGetCurrent, cuCtxGetCurrent, CUcontext* context)                      \
  X(cuCtxSetCurrent, cuCtxSetCurrent, CUcontext context)                       \
  X(cuCtxGetLimit, cuCtxGetLimit, std::size_t* value, CUlimit limit)           \
  X(cuCtxSynchronize, cuCtxSynchronize, void)                                  \
  X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, int* least,      \
    int* greatest)                                                             \
  X(cuModuleLoadData, cuModuleLoadData, CUmodule* module, const void* image)   \
  X(cuModuleLoadDataEx, cuModuleLoadDataEx, CUmodule* module,                  \
    const void* image, unsigned int count, CUjit_option* options,              \
    void** values)                                                             \
  X(cuModuleUnload, cuModuleUnload, CUmodule module)                           \
  X(cuModuleGetFunction, cuModuleGetFunction, CUfunction* function,            \
    CUmodule module, const char* name)                                         \
  X(cuModuleGetGlobal, cuModuleGetGlobal_v2, CUdeviceptr* pointer,             \
    std::size_t* bytes, CUmodule module, const char* name)                     \
  X(cuFuncGetAttribute, cuFuncGetAttribute, int* value,                        \
    CUfunction_attribute attribute, CUfunction function)                       \
  X(cuFuncSetAttribute, cuFuncSetAttribute, CUfunction function,               \
    CUfunction_attribute attribute, int value)                                 \
  X(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize,        \
    int* min_grid, int* block, CUfunction function,                            \
    CUoccupancyB2DSize shared_bytes_of, std::size_t shared_bytes,              \
    int most_threads)                                                          \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                               \
    cuOccupancyMaxActiveBlocksPerMultiprocessor, int* blocks,                  \
    CUfunction function, int threads, std::size_t dynamic_shared_bytes)        \
  X(cuLaunchKernel, cuLaunchKernel, CUfunction function, unsigned int grid_x,  \
    unsigned int grid_y, unsigned int grid_z, unsigned int block_x,            \
    unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,     \
    CUstream stream, void** parameters, void** extra)                          \
  X(cuStreamCreate, cuStreamCreate, CUstream* stream, unsigned int flags)      \
  X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, CUstream* stream,  \
    unsigned int flags, int priority)                                          \
  X(cuStreamDestroy, cuStreamDestroy_v2, CUstream stream)                      \
  X(cuStreamSynchronize, cuStreamSynchronize, CUstream stream)                 \
  X(cuStreamQuery, cuStreamQuery, CUstream stream)                             \
  X(cuStreamWaitEvent, cuStreamWaitEvent, CUstream stream, CUevent event,      \
    unsigned int flags)                                                        \
  X(cuStreamIsCapturing, cuStreamIsCapturing, CUstream stream,                 \
    CUstreamCaptureStatus* status)                                             \
  X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode,      \
    CUstreamCaptureMode* mode)                                                 \
  X(cuEventCreate, cuEventCreate, CUevent* event, unsigned int flags)          \
  X(cuEventRecord, cuEventRecord, CUevent event, CUstream stream)              \
  X(cuEventDestroy, cuEventDestroy_v2, CUevent event)                          \
  X(cuEventQuery, cuEventQuery, CUevent event)                                 \
  X(cuEventSynchronize, cuEventSynchronize, CUevent event)                     \
  X(cuEventElapsedTime, cuEventElapsedTime, float* milliseconds,               \
    CUevent start, CUevent end)                                                \
  X(cuMemAlloc, cuMemAlloc_v2, CUdeviceptr* pointer, std::size_t bytes)        \
  X(cuMemAllocManaged, cuMemAllocManaged, CUdeviceptr* pointer,                \
    std::size_t bytes, unsigned int flags)                                     \
  X(cuMemFree, cuMemFree_v2, CUdeviceptr pointer)                              \
  X(cuMemAllocAsync, cuMemAllocAsync, CUdeviceptr* pointer, std::size_t bytes, \
    CUstream stream)                                                           \
  X(cuMemFreeAsync, cuMemFreeAsync, CUdeviceptr pointer, CUstream stream)      \
  X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, CUmemoryPool* pool,  \
    CUdevice device)                                                           \
  X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, CUmemoryPool pool,           \
    CUmemPool_attribute attribute, void* value)                                \
  X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, CUmemoryPool pool,           \
    CUmemPool_attribute attribute, void* value)                                \
  X(cuMemHostAlloc, cuMemHostAlloc, void** pointer, std::size_t bytes,         \
    unsigned int flags)                                                        \
  X(cuMemFreeHost, cuMemFreeHost, void* pointer)                               \
  X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                   \
    CUdeviceptr* device_pointer, void* pointer, unsigned int flags)            \
  X(cuMemGetInfo, cuMemGetInfo_v2, std::size_t* free, std::size_t* total)      \
  X(cuPointerGetAttribute, cuPointerGetAttribute, void* value,                 \
    CUpointer_attribute attribute, CUdeviceptr pointer)                        \
  X(cuPointerGetAttributes, cuPointerGetAttributes, unsigned int count,        \
    CUpointer_attribute* attributes, void** values, CUdeviceptr pointer)       \
  X(cuMemcpyHtoD, cuMemcpyHtoD_v2, CUdeviceptr to, const void* from,           \
    std::size_t bytes)                                                         \
  X(cuMemcpyDtoH, cuMemcpyDtoH_v2, void* to, CUdeviceptr from,                 \
    std::size_t bytes)                                                         \
  X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, CUdeviceptr to, const void* from, \
    std::size_t bytes, CUstream stream)                                        \
  X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, void* to, CUdeviceptr from,       \
    std::size_t bytes, CUstream stream)                                        \
  X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, CUdeviceptr to, CUdeviceptr from, \
    std::size_t bytes, CUstream stream)                                        \
  X(cuMemsetD32, cuMemsetD32_v2, CUdeviceptr to, unsigned int value,           \
    std::size_t count)                                                         \
  X(cuMemsetD8Async, cuMemsetD8Async, CUdeviceptr to, unsigned char value,     \
    std::size_t count, CUstream stream)                                        \
  X(cuMemsetD32Async, cuMemsetD32Async, CUdeviceptr to, unsigned int value,    \
    std::size_t count, CUstream stream)                                        \
  X(cuLinkCreate, cuLinkCreate_v2, unsigned int count, CUjit_option* options,  \
    void** values, CUlinkState* state)                                         \
  X(cuLinkAddData, cuLinkAddData_v2, CUlinkState state, CUjitInputType type,   \
    void* data, std::size_t bytes, const char* name, unsigned int count,       \
    CUjit_option* options, void** values)                                      \
  X(cuLinkComplete, cuLinkComplete, CUlinkState state, void** image,           \
    std::size_t* bytes)                                                        \
  X(cuLinkDestroy, cuLinkDestroy, CUlinkState state)                           \
  X(cuStreamBeginCapture, cuStreamBeginCapture_v2, CUstream stream,            \
    CUstreamCaptureMode mode)                                                  \
  X(cuStreamEndCapture, cuStreamEndCapture, CUstream stream, CUgraph* graph)   \
  X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags,                  \
    CUgraphExec* executable, CUgraph graph, unsigned long long flags)          \
  X(cuGraphLaunch, cuGraphLaunch, CUgraphExec executable, CUstream stream)     \
  X(cuGraphExecDestroy, cuGraphExecDestroy, CUgraphExec executable)            \
  X(cuGraphDestroy, cuGraphDestroy, CUgraph graph)

// These functions are null where the driver is too old.
#define GPUOS_OPTIONAL_DRIVER_FUNCTIONS(X)                                   \
  X(cuLaunchKernelEx, cuLaunchKernelEx, const CUlaunchConfig* config,        \
    CUfunction function, void** parameters, void** extra)                    \
  X(cuFuncLoad, cuFuncLoad, CUfunction function)                             \
  X(cuFuncGetParamInfo, cuFuncGetParamInfo, CUfunction function,             \
    std::size_t index, std::size_t* offset, std::size_t* bytes)              \
  X(cuModuleGetFunctionCount, cuModuleGetFunctionCount, unsigned int* count, \
    CUmodule module)                                                         \
  X(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions,                  \
    CUfunction* functions, unsigned int count, CUmodule module)              \
  X(cuStreamWriteValue32, cuStreamWriteValue32_v2, CUstream stream,          \
    CUdeviceptr to, std::uint32_t value, unsigned int flags)                 \
  X(cuStreamWriteValue64, cuStreamWriteValue64_v2, CUstream stream,          \
    CUdeviceptr to, std::uint64_t value, unsigned int flags)                 \
  X(cuLaunchHostFunc, cuLaunchHostFunc, CUstream stream, CUhostFn function,  \
    void* data)                                                              \
  X(cuGraphAddKernelNode, cuGraphAddKernelNode_v2, CUgraphNode* node,        \
    CUgraph graph, const CUgraphNode* dependencies, std::size_t count,       \
    const CUDA_KERNEL_NODE_PARAMS* parameters)

/// The driver's functions, loaded at run time.
struct DriverApi {
#define GPUOS_DECLARE(name, symbol, ...) \
  CUresult (*name)(__VA_ARGS__) = nullptr;
  GPUOS_DRIVER_FUNCTIONS(GPUOS_DECLARE)
  GPUOS_OPTIONAL_DRIVER_FUNCTIONS(GPUOS_DECLARE)
#undef GPUOS_DECLARE
};

/// The driver, opened at the first call and never closed. Does not call
/// cuInit().
/// Threads: any.
/// Throws: BackendUnavailable if there is no driver or it is too old.
const DriverApi& driver();

/// Returns the driver, or null where driver() throws.
const DriverApi* try_driver() noexcept;

/// The file in which the driver was found. It is empty without a driver.
const char* driver_path() noexcept;

}  // namespace gpuos::cu
