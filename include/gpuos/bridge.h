#pragma once

#include <cstddef>
#include <cstdint>

#include "gpuos/export.h"
#include "gpuos/requests.h"

namespace gpuos {

/// Has another value after every change of BridgeTable, Request, TensorView,
/// StillNeeded, RequestStats or DType.
inline constexpr std::uint32_t kBridgeVersion = 6;

enum class BridgeResult : std::int32_t { Done, TimedOut, Failed };

/// RequestRunner for code that is compiled elsewhere and does not link gpuos.
/// The functions throw no exceptions. A function that fails writes the reason
/// to `error`, truncated to `error_bytes` and terminated by a 0.
struct BridgeTable {
  std::uint32_t version = kBridgeVersion;  // first, in every version
  std::uint32_t request_bytes = sizeof(Request);
  /// A runner, or null. Lifetime: not longer than the runtime's.
  void* (*create)(Runtime* runtime, char* error, std::size_t error_bytes);
  void (*destroy)(void* runner);
  /// Equals RequestRunner::run(). Never returns TimedOut.
  BridgeResult (*run)(void* runner, const Request* requests,
                      std::size_t request_count, const TensorView* views,
                      std::size_t view_count, StillNeeded needed, void* stream,
                      bool has_stream, bool owners_lie_apart, char* error,
                      std::size_t error_bytes);
  /// Waits for everything that was submitted to the runtime.
  BridgeResult (*synchronize)(void* runner, std::int64_t timeout_ns,
                              char* error, std::size_t error_bytes);
  RequestStats (*stats)(const void* runner);
  /// Returns the number of processors that this process may use.
  std::uint32_t (*processors)();
};

/// The Python capsule kBridgeCapsule points at this.
struct Bridge {
  const BridgeTable* table = nullptr;
  Runtime* runtime = nullptr;
};

inline constexpr char kBridgeCapsule[] = "gpuos.bridge";

/// The Python module calls these for code that defers work on arrays of other
/// libraries. It holds the GIL then.
struct ArrayWatch {
  /// Called before a task of `runtime` uses the memory of `array`, a Python
  /// object. Returns false with a Python error, and nothing is submitted then.
  bool (*before)(void* array, const Runtime* runtime) noexcept;
  /// Called after each submission for which before() was called, even if it
  /// failed.
  void (*after)(const Runtime* runtime) noexcept;
};

inline constexpr char kWatchCapsule[] = "gpuos.array_watch";

/// Returns the functions of this library.
GPUOS_API const BridgeTable& bridge_table() noexcept;

}  // namespace gpuos
