#pragma once

namespace gpuos {

class Runtime;

/// The Python capsule of this name points at a Runtime, which it keeps alive.
inline constexpr char kRuntimeCapsule[] = "gpuos.runtime";

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

}  // namespace gpuos
