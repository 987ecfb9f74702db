// This is the memory layout of DLPack 1.3, https://dmlc.github.io/dlpack/latest
#pragma once

#include <cstdint>

namespace gpuos::python::dlpack {

inline constexpr std::uint32_t kMajorVersion = 1;
inline constexpr std::uint32_t kMinorVersion = 1;  // the first with float8
inline constexpr std::uint64_t kReadOnlyFlag = 1;
inline constexpr std::uint64_t kCopiedFlag = 2;

inline constexpr char kExchangeAttribute[] = "__dlpack_c_exchange_api__";
inline constexpr char kExchangeCapsule[] = "dlpack_exchange_api";
inline constexpr char kCapsule[] = "dltensor";
inline constexpr char kUsedCapsule[] = "used_dltensor";
inline constexpr char kVersionedCapsule[] = "dltensor_versioned";
inline constexpr char kUsedVersionedCapsule[] = "used_dltensor_versioned";

enum DeviceType : std::int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,
  kCudaManaged = 13,
};

struct DlpackDevice {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;  // see gpuos/dtype_list.h
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  DlpackDevice device;
  std::int32_t ndim;
  DataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: C order
  std::uint64_t byte_offset;
};

struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed* self);
};

struct ManagedVersioned {
  std::uint32_t major;
  std::uint32_t minor;
  void* context;
  void (*deleter)(ManagedVersioned* self);
  std::uint64_t flags;
  Tensor tensor;
};

/// Holds the functions at which the exchange capsule of a type points. It lives
/// as long as the process. The functions need the GIL. If they do not return 0,
/// they set a Python error. They synchronise nothing.
struct ExchangeApi {
  std::uint32_t major;
  std::uint32_t minor;
  const ExchangeApi* previous;  // an older major version, or null
  void (*allocate)();           // not called here, nor is `to_object`
  int (*to_managed)(void* object, ManagedVersioned** out);
  void (*to_object)();
  int (*to_tensor)(void* object, Tensor* out);  // may be null; owns nothing
  void (*current_stream)();                     // not called here
};

}  // namespace gpuos::python::dlpack
