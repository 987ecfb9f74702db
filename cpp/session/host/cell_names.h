// These are the names that host code in a session's cells has in addition to
// its own. They are CUDA's names and the way back to the session. The host
// compiler reads this before every cell. The library reads it for Calls.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <new>

// NOLINTBEGIN(readability-identifier-naming): names of CUDA
#ifdef GPUOS_CELL
#define __host__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __grid_constant__
#define __align__(bytes) __attribute__((aligned(bytes)))
#endif

// Lists names, codes and the texts of cudaGetErrorString().
#define GPUOS_CUDA_ERRORS(X)                                                  \
  X(cudaSuccess, 0, "no error")                                               \
  X(cudaErrorInvalidValue, 1, "invalid argument")                             \
  X(cudaErrorMemoryAllocation, 2, "out of memory")                            \
  X(cudaErrorInvalidConfiguration, 9, "invalid configuration argument")       \
  X(cudaErrorNoDevice, 100, "no CUDA-capable device is detected")             \
  X(cudaErrorInvalidDevice, 101, "invalid device ordinal")                    \
  X(cudaErrorInvalidResourceHandle, 400, "invalid resource handle")           \
  X(cudaErrorNotReady, 600, "device not ready")                               \
  X(cudaErrorNotSupported, 801, "operation not supported")                    \
  X(cudaErrorIllegalAddress, 700, "an illegal memory access was encountered") \
  X(cudaErrorLaunchOutOfResources, 701,                                       \
    "too many resources requested for launch")                                \
  X(cudaErrorMisalignedAddress, 716, "misaligned address")                    \
  X(cudaErrorLaunchFailure, 719, "unspecified launch failure")                \
  X(cudaErrorUnknown, 999, "unknown error")

enum cudaError_t : int {
#define GPUOS_CUDA_ERROR(name, code, text) name = (code),
  GPUOS_CUDA_ERRORS(GPUOS_CUDA_ERROR)
#undef GPUOS_CUDA_ERROR
};
using cudaError = cudaError_t;
using cudaStream_t = struct CudaStream*;
using cudaEvent_t = struct CudaEvent*;

enum cudaMemcpyKind : int {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4
};

struct dim3 {
  unsigned int x = 1;
  unsigned int y = 1;
  unsigned int z = 1;
  constexpr dim3(unsigned int of_x = 1, unsigned int of_y = 1,
                 unsigned int of_z = 1)
      : x(of_x), y(of_y), z(of_z) {}
};
// NOLINTEND(readability-identifier-naming)

namespace gpuos_host {

/// Holds the parts between <<< and >>>.
struct CellLaunch {
  dim3 grid;
  dim3 block;
  std::size_t shared_bytes = 0;
  void* stream = nullptr;
};

/// Names a kernel for its stub.
struct KernelName {
  const char* name;  // "m::k"
  const char* key;   // key of the session's item, null for a template
  // These are the arguments of a template: texts of name_of() and value_of().
  const char* const* arguments = nullptr;
  std::size_t argument_count = 0;
};

struct KernelArgument {
  const void* data;
  std::size_t bytes;
  bool is_pointer;
};

/// Describes a variable that the cell has just made.
struct Made {
  int index;  // index of the item in its cell
  const volatile void* address;
  std::size_t bytes;
  const char* type;  // __PRETTY_FUNCTION__ of a template with that type
};

/// Names a call of the driver for a stream, an event or the device.
enum class DriverCall : int {
  MakeStream,
  EndStream,
  WaitForStream,
  QueryStream,
  MakeEvent,
  EndEvent,
  Record,  // an event in a stream
  WaitForEvent,
  QueryEvent,
  StreamWaits,  // a stream waits for an event
  Elapsed,      // time between two events
  Attribute,    // attribute of the device, by its number
  DeviceName,   // name of 256 characters
  MemorySizes,  // free and total bytes
  Reset         // frees the remaining memory, streams and events
};

/// Says where memory is.
enum class MemoryPlace : int { OnDevice, Managed, Pinned };

/// Holds the functions of the session that its cells call.
struct Calls {
  void* session;
  void (*launch)(void*, const KernelName*, const CellLaunch*,
                 const KernelArgument*, std::size_t count);
  void (*statement)(void*, int index);
  void (*launches)(void*, const char* function);
  void (*reach)(void*, int index);
  void (*made)(void*, const Made*);
  // This returns the address of a variable on the device, or its value.
  void (*variable)(void*, const char* name, void* to, std::size_t bytes,
                   bool wants_address);
  cudaError_t (*allocate)(void*, void** pointer, std::size_t bytes,
                          MemoryPlace kind);
  cudaError_t (*release)(void*, void* pointer, MemoryPlace kind);
  cudaError_t (*copy)(void*, void* to, const void* from, std::size_t bytes,
                      int kind);
  cudaError_t (*fill)(void*, void* to, int value, std::size_t bytes);
  cudaError_t (*synchronize)(void*);
  cudaError_t (*last_error)(void*, bool is_kept);
  // `made` is where a handle, a number or a text goes.
  cudaError_t (*order)(void*, DriverCall what, void* first, void* second,
                       void* made);
};

}  // namespace gpuos_host

#ifdef GPUOS_CELL

namespace gpuos_host {

// The session sets this before any code of the cell runs.
static const Calls* calls = nullptr;

template <typename T>
struct Same {
  using type = T;
};
template <typename T>
using type = typename Same<T>::type;

template <typename T>
constexpr const char* name_of() {
  return __PRETTY_FUNCTION__;
}
template <auto V>
constexpr const char* value_of() {
  return __PRETTY_FUNCTION__;
}

// Follows a variable in the text. Its constructor runs when the variable has
// been made.
struct MadeHere {
  MadeHere(int index, const volatile void* address, std::size_t bytes,
           const char* type) {
    const Made made{index, address, bytes, type};
    calls->made(calls->session, &made);
  }
};

// Comes before a piece of code, so that an error has its place.
struct Reached {
  explicit Reached(int index) { calls->reach(calls->session, index); }
};

// Runs a statement of the cell at its place between the variables.
struct Ran {
  explicit Ran(void (*statement)()) { statement(); }
  // Runs a statement that the session itself can run.
  explicit Ran(int index) { calls->statement(calls->session, index); }
};

static inline thread_local const CellLaunch* next_config = nullptr;

// Turns "k<<<grid, block>>>(arguments)" into "configure(grid, block),
// k(arguments)".
class configure {
 public:
  configure(dim3 grid, dim3 block, std::size_t shared_bytes = 0,
            void* stream = nullptr)
      : config_{grid, block, shared_bytes, stream}, before_(next_config) {
    next_config = &config_;
  }
  configure(const configure&) = delete;
  ~configure() { next_config = before_; }

 private:
  CellLaunch config_;
  const CellLaunch* before_;
};

template <typename T>
constexpr bool is_pointer(T* const*) {
  return true;
}
template <typename T>
constexpr bool is_pointer(T* const __restrict__*) {
  return true;
}
constexpr bool is_pointer(...) { return false; }

template <typename... Arguments>
void launch(const KernelName& kernel, const Arguments&... arguments) {
  const KernelArgument packed[sizeof...(arguments) + 1] = {
      {__builtin_addressof(arguments), sizeof(arguments),
       is_pointer(__builtin_addressof(arguments))}...,
      {}};
  calls->launch(calls->session, &kernel, next_config, packed,
                sizeof...(arguments));
}

template <typename... Arguments>
void launch_instance(const char* name, std::initializer_list<const char*> given,
                     const Arguments&... arguments) {
  launch({name, nullptr, given.begin(), given.size()}, arguments...);
}

/// Converts to every type of pointer, for an address on the device.
struct DevicePointer {
  void* address;
  template <typename T>
  operator T*() const {
    return static_cast<T*>(address);
  }
};

/// Passes a variable on the device as an argument of a kernel.
struct Variable {
  const char* name;
  template <typename T>
  T get(bool wants_address) const {
    T value;
    calls->variable(calls->session, name, &value, sizeof(T), wants_address);
    return value;
  }
  template <typename T>
  operator T() const {
    return get<T>(false);
  }
  template <typename T>
  operator T*() const {
    return get<T*>(true);
  }
  DevicePointer operator&() const { return {get<void*>(true)}; }
};

/// Returns the object at an address that is known when the cell is compiled.
/// All cells run in one process.
template <typename T>
T& at(unsigned long long address) {
  return *reinterpret_cast<T*>(address);
}
// Returns the type of the function's result. The function is never called.
template <typename T>
T& at(T& (*)(), unsigned long long address) {
  return *reinterpret_cast<T*>(address);
}

}  // namespace gpuos_host

// Each function takes memory from one place and ignores its flags.
#define GPUOS_ALLOCATE(name, kind, ...)                                        \
  static inline cudaError_t name(                                              \
      void** pointer, std::size_t bytes __VA_OPT__(, ) __VA_ARGS__) {          \
    using namespace gpuos_host;                                                \
    return calls->allocate(calls->session, pointer, bytes, MemoryPlace::kind); \
  }                                                                            \
  template <typename T>                                                        \
  static inline cudaError_t name(                                              \
      T** pointer, std::size_t bytes __VA_OPT__(, ) __VA_ARGS__) {             \
    return name(reinterpret_cast<void**>(pointer), bytes);                     \
  }
GPUOS_ALLOCATE(cudaMalloc, OnDevice)
GPUOS_ALLOCATE(cudaMallocAsync, OnDevice, cudaStream_t = nullptr)
GPUOS_ALLOCATE(cudaMallocManaged, Managed, unsigned int = 1)
GPUOS_ALLOCATE(cudaMallocHost, Pinned, unsigned int = 0)
GPUOS_ALLOCATE(cudaHostAlloc, Pinned, unsigned int = 0)
#undef GPUOS_ALLOCATE
static inline cudaError_t cudaFree(void* pointer) {
  using namespace gpuos_host;
  return calls->release(calls->session, pointer, MemoryPlace::OnDevice);
}
static inline cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  return cudaFree(pointer);
}
static inline cudaError_t cudaFreeHost(void* pointer) {
  using namespace gpuos_host;
  return calls->release(calls->session, pointer, MemoryPlace::Pinned);
}
static inline cudaError_t cudaMemcpy(void* to, const void* from,
                                     std::size_t bytes, cudaMemcpyKind kind) {
  using namespace gpuos_host;
  return calls->copy(calls->session, to, from, bytes, kind);
}
static inline cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  using namespace gpuos_host;
  return calls->fill(calls->session, to, value, bytes);
}
// Each row begins `pitch` bytes after the one before.
template <typename T>
static inline cudaError_t cudaMallocPitch(T** pointer, std::size_t* pitch,
                                          std::size_t width,
                                          std::size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}
static inline cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch,
                                       const void* from, std::size_t from_pitch,
                                       std::size_t width, std::size_t height,
                                       cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return cudaErrorInvalidValue;
  cudaError_t error = cudaSuccess;
  for (std::size_t i = 0; i < height && error == cudaSuccess; ++i)
    error = cudaMemcpy(static_cast<char*>(to) + i * to_pitch,
                       static_cast<const char*>(from) + i * from_pitch, width,
                       kind);
  return error;
}
static inline cudaError_t cudaMemset2D(void* to, std::size_t pitch, int value,
                                       std::size_t width, std::size_t height) {
  cudaError_t error = cudaSuccess;
  for (std::size_t i = 0; i < height && error == cudaSuccess; ++i)
    error = cudaMemset(static_cast<char*>(to) + i * pitch, value, width);
  return error;
}
static inline cudaError_t cudaDeviceSynchronize() {
  return gpuos_host::calls->synchronize(gpuos_host::calls->session);
}
static inline cudaError_t cudaGetLastError() {
  return gpuos_host::calls->last_error(gpuos_host::calls->session, false);
}
static inline cudaError_t cudaPeekAtLastError() {
  return gpuos_host::calls->last_error(gpuos_host::calls->session, true);
}
static inline const char* cudaGetErrorName(cudaError_t error) {
#define GPUOS_CUDA_ERROR(name, code, text) \
  if (error == name) return #name;
  GPUOS_CUDA_ERRORS(GPUOS_CUDA_ERROR)
#undef GPUOS_CUDA_ERROR
  return "unrecognized error code";
}
static inline const char* cudaGetErrorString(cudaError_t error) {
#define GPUOS_CUDA_ERROR(name, code, text) \
  if (error == name) return text;
  GPUOS_CUDA_ERRORS(GPUOS_CUDA_ERROR)
#undef GPUOS_CUDA_ERROR
  return "unrecognized error code";
}

// These functions take the names of variables on the device.
static inline cudaError_t cudaGetSymbolAddress(
    void** pointer, const gpuos_host::Variable& symbol) {
  const cudaError_t found = cudaFree(nullptr);
  if (found == cudaSuccess) *pointer = (&symbol).address;
  return found;
}
static inline cudaError_t cudaMemcpyToSymbol(
    const gpuos_host::Variable& symbol, const void* from, std::size_t bytes,
    std::size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
  void* at = nullptr;
  const cudaError_t found = cudaGetSymbolAddress(&at, symbol);
  if (found != cudaSuccess) return found;
  return cudaMemcpy(static_cast<char*>(at) + offset, from, bytes, kind);
}
static inline cudaError_t cudaMemcpyFromSymbol(
    void* to, const gpuos_host::Variable& symbol, std::size_t bytes,
    std::size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
  void* at = nullptr;
  const cudaError_t found = cudaGetSymbolAddress(&at, symbol);
  if (found != cudaSuccess) return found;
  return cudaMemcpy(to, static_cast<char*>(at) + offset, bytes, kind);
}

// Streams wait for the legacy stream, and it waits for them.
namespace gpuos_host {
static inline cudaError_t order(DriverCall what, void* first,
                                void* second = nullptr, void* made = nullptr) {
  return calls->order(calls->session, what, first, second, made);
}
}  // namespace gpuos_host
enum { cudaStreamDefault, cudaStreamNonBlocking };
enum { cudaEventDefault, cudaEventBlockingSync, cudaEventDisableTiming };
static inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  using namespace gpuos_host;
  return order(DriverCall::MakeStream, nullptr, nullptr, stream);
}
static inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream,
                                                    unsigned int) {
  return cudaStreamCreate(stream);
}
static inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return gpuos_host::order(gpuos_host::DriverCall::EndStream, stream);
}
static inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return gpuos_host::order(gpuos_host::DriverCall::WaitForStream, stream);
}
static inline cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return gpuos_host::order(gpuos_host::DriverCall::QueryStream, stream);
}
static inline cudaError_t cudaStreamWaitEvent(cudaStream_t stream,
                                              cudaEvent_t event,
                                              unsigned int = 0) {
  return gpuos_host::order(gpuos_host::DriverCall::StreamWaits, stream, event);
}
static inline cudaError_t cudaEventCreate(cudaEvent_t* event) {
  using namespace gpuos_host;
  return order(DriverCall::MakeEvent, nullptr, nullptr, event);
}
static inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event,
                                                   unsigned int) {
  return cudaEventCreate(event);
}
static inline cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return gpuos_host::order(gpuos_host::DriverCall::EndEvent, event);
}
static inline cudaError_t cudaEventRecord(cudaEvent_t event,
                                          cudaStream_t stream = nullptr) {
  return gpuos_host::order(gpuos_host::DriverCall::Record, event, stream);
}
static inline cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return gpuos_host::order(gpuos_host::DriverCall::WaitForEvent, event);
}
static inline cudaError_t cudaEventQuery(cudaEvent_t event) {
  return gpuos_host::order(gpuos_host::DriverCall::QueryEvent, event);
}
static inline cudaError_t cudaEventElapsedTime(float* milliseconds,
                                               cudaEvent_t begin,
                                               cudaEvent_t end) {
  return gpuos_host::order(gpuos_host::DriverCall::Elapsed, begin, end,
                           milliseconds);
}
static inline cudaError_t cudaMemcpyAsync(void* to, const void* from,
                                          std::size_t bytes,
                                          cudaMemcpyKind kind,
                                          cudaStream_t = nullptr) {
  return cudaMemcpy(to, from, bytes, kind);
}
static inline cudaError_t cudaMemsetAsync(void* to, int value,
                                          std::size_t bytes,
                                          cudaStream_t = nullptr) {
  return cudaMemset(to, value, bytes);
}

// A session has one device.
static inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = cudaDeviceSynchronize() == cudaErrorNoDevice ? 0 : 1;
  return *count == 0 ? cudaErrorNoDevice : cudaSuccess;
}
static inline cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
static inline cudaError_t cudaSetDevice(int device) {
  return device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
static inline cudaError_t cudaDeviceReset() {
  const cudaError_t error = cudaDeviceSynchronize();
  if (error != cudaSuccess) return error;
  return gpuos_host::order(gpuos_host::DriverCall::Reset, nullptr);
}
static inline cudaError_t cudaSetDeviceFlags(unsigned int) {
  return cudaSuccess;
}
static inline cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* all) {
  return gpuos_host::order(gpuos_host::DriverCall::MemorySizes, free, all);
}
// These are hints, which the session ignores.
template <typename... Hints>
static inline cudaError_t cudaMemPrefetchAsync(const void*, std::size_t,
                                               Hints...) {
  return cudaFree(nullptr);
}
template <typename... Hints>
static inline cudaError_t cudaMemAdvise(const void*, std::size_t, Hints...) {
  return cudaFree(nullptr);
}
enum { cudaMemAttachGlobal = 1, cudaMemAttachHost = 2 };
enum {
  cudaHostAllocDefault = 0,
  cudaHostAllocPortable = 1,
  cudaHostAllocMapped = 2,
  cudaHostAllocWriteCombined = 4,
  cudaDeviceMapHost = 8,
  cudaCpuDeviceId = -1
};
template <typename T>
static inline cudaError_t cudaHostGetDevicePointer(T** on_device, void* pointer,
                                                   unsigned int) {
  *on_device = static_cast<T*>(pointer);
  return cudaFree(nullptr);
}

// The columns are members of cudaDeviceProp, the end of cudaDevAttr's names,
// and numbers.
#define GPUOS_CUDA_PROPERTIES(X)                                               \
  X(int, maxThreadsPerBlock, MaxThreadsPerBlock, 1)                            \
  X(int, maxThreadsDim[0], MaxBlockDimX, 2)                                    \
  X(int, maxThreadsDim[1], MaxBlockDimY, 3)                                    \
  X(int, maxThreadsDim[2], MaxBlockDimZ, 4)                                    \
  X(int, maxGridSize[0], MaxGridDimX, 5)                                       \
  X(int, maxGridSize[1], MaxGridDimY, 6)                                       \
  X(int, maxGridSize[2], MaxGridDimZ, 7)                                       \
  X(std::size_t, sharedMemPerBlock, MaxSharedMemoryPerBlock, 8)                \
  X(std::size_t, totalConstMem, TotalConstantMemory, 9)                        \
  X(int, warpSize, WarpSize, 10)                                               \
  X(std::size_t, memPitch, MaxPitch, 11)                                       \
  X(int, regsPerBlock, MaxRegistersPerBlock, 12)                               \
  X(int, clockRate, ClockRate, 13)                                             \
  X(int, multiProcessorCount, MultiProcessorCount, 16)                         \
  X(int, integrated, Integrated, 18)                                           \
  X(int, canMapHostMemory, CanMapHostMemory, 19)                               \
  X(int, computeMode, ComputeMode, 20)                                         \
  X(int, concurrentKernels, ConcurrentKernels, 31)                             \
  X(int, ECCEnabled, EccEnabled, 32)                                           \
  X(int, pciBusID, PciBusId, 33)                                               \
  X(int, pciDeviceID, PciDeviceId, 34)                                         \
  X(int, memoryClockRate, MemoryClockRate, 36)                                 \
  X(int, memoryBusWidth, GlobalMemoryBusWidth, 37)                             \
  X(int, l2CacheSize, L2CacheSize, 38)                                         \
  X(int, maxThreadsPerMultiProcessor, MaxThreadsPerMultiProcessor, 39)         \
  X(int, asyncEngineCount, AsyncEngineCount, 40)                               \
  X(int, unifiedAddressing, UnifiedAddressing, 41)                             \
  X(int, major, ComputeCapabilityMajor, 75)                                    \
  X(int, minor, ComputeCapabilityMinor, 76)                                    \
  X(std::size_t, sharedMemPerMultiprocessor, MaxSharedMemoryPerMultiprocessor, \
    81)                                                                        \
  X(int, regsPerMultiprocessor, MaxRegistersPerMultiprocessor, 82)             \
  X(int, managedMemory, ManagedMemory, 83)                                     \
  X(int, concurrentManagedAccess, ConcurrentManagedAccess, 89)                 \
  X(int, cooperativeLaunch, CooperativeLaunch, 95)                             \
  X(std::size_t, sharedMemPerBlockOptin, MaxSharedMemoryPerBlockOptin, 97)     \
  X(int, maxBlocksPerMultiProcessor, MaxBlocksPerMultiprocessor, 106)

enum cudaDeviceAttr : int {
#define GPUOS_PROPERTY(type, member, name, number) cudaDevAttr##name = number,
  GPUOS_CUDA_PROPERTIES(GPUOS_PROPERTY)
#undef GPUOS_PROPERTY
};
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem, sharedMemPerBlock, totalConstMem, memPitch,
      sharedMemPerMultiprocessor, sharedMemPerBlockOptin;
  int maxThreadsDim[3], maxGridSize[3];
  int maxThreadsPerBlock, warpSize, regsPerBlock, clockRate,
      multiProcessorCount, integrated, canMapHostMemory, computeMode,
      concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, memoryClockRate,
      memoryBusWidth, l2CacheSize, maxThreadsPerMultiProcessor,
      asyncEngineCount, unifiedAddressing, major, minor, regsPerMultiprocessor,
      managedMemory, concurrentManagedAccess, cooperativeLaunch,
      maxBlocksPerMultiProcessor;
};
static inline cudaError_t cudaDeviceGetAttribute(int* value,
                                                 cudaDeviceAttr which,
                                                 int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  return gpuos_host::order(gpuos_host::DriverCall::Attribute, &which, nullptr,
                           value);
}
static inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* all,
                                                  int device) {
  *all = {};
  cudaError_t error = device == 0 ? cudaSuccess : cudaErrorInvalidDevice;
  int value = 0;
#define GPUOS_PROPERTY(type, member, name, number)                     \
  if (error == cudaSuccess) {                                          \
    error = cudaDeviceGetAttribute(&value, cudaDevAttr##name, device); \
    all->member = static_cast<type>(value);                            \
  }
  GPUOS_CUDA_PROPERTIES(GPUOS_PROPERTY)
#undef GPUOS_PROPERTY
  std::size_t free = 0;
  if (error == cudaSuccess) error = cudaMemGetInfo(&free, &all->totalGlobalMem);
  if (error == cudaSuccess)
    error = gpuos_host::order(gpuos_host::DriverCall::DeviceName, nullptr,
                              nullptr, all->name);
  return error;
}

#endif  // GPUOS_CELL
