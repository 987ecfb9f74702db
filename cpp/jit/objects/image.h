#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace gpuos::jit {

/// Holds the resources that a function, with its callees, needs from its
/// kernel.
struct Resources {
  /// Marks a stack that recursion or calls through pointers leave without a
  /// bound.
  static constexpr std::uint32_t kUnbounded = 0xffffffffu;

  std::uint32_t registers = 0;       // per thread
  std::uint32_t stack_bytes = 0;     // per thread
  std::uint32_t shared_bytes = 0;    // static, per block
  std::uint32_t constant_bytes = 0;  // banks that belong to the image
  std::uint32_t barriers = 0;        // __syncthreads() is one
  bool uses_shared = false;          // static or dynamic
};

/// Holds the resources that the loaded worker kernel leaves to an operator.
struct Budget {
  std::uint32_t registers = 0;
  std::uint32_t stack_bytes = 0;
};

/// Sets the registers for which the worker kernel is compiled, here and in
/// cmake/GpuosWorker.cmake. Each thread gets as many if four workers of 256
/// threads run.
inline constexpr std::uint32_t kWorkerRegisters = 64;

/// Pairs a name in the source with its symbol in the image.
struct LoweredName {
  std::string name;
  std::string symbol;

  bool operator==(const LoweredName&) const = default;
};

/// Holds an image that is ready to be loaded.
struct Image {
  std::string binary;                   // CUBIN, or PTX for a whole module
  std::vector<std::string> entries;     // exported pointers: gpuos_entry_<...>
  Resources needs{};                    // needs of the neediest operator
  std::string log{};                    // output of the compiler
  std::vector<LoweredName> symbols{};   // symbols of the name expressions
  std::shared_ptr<const void> keeps{};  // keeps the objects at its addresses
};

}  // namespace gpuos::jit
