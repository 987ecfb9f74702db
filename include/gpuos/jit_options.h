#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpuos/export.h"

namespace gpuos {

/// Names how much optimisation the compiler omits to finish earlier.
enum class FastCompile : std::uint8_t { Off, Min, Mid, Max };

/// Decides how NVRTC compiles device code.
struct JitOptions {
  /// "c++11" to "c++23".
  std::string std = "c++20";
  /// Macros, name and text. "1" is the meaning of -DNAME.
  std::vector<std::pair<std::string, std::string>> defines{};
  /// Registers of a thread, 16 to 255. 0 sets no limit.
  std::uint32_t max_registers = 0;
  /// Uses less exact division, square root and functions. Denormals are zero.
  bool fast_math = false;
  /// Adds source lines for profilers. The code is the same.
  bool line_info = false;
  /// Makes unoptimised code for debuggers.
  bool debug = false;
  /// The assembler's level, 0 to 3. With `fast_compile` it is 3, with `debug` 0
  /// or 3.
  int optimization = 3;
  /// Needs NVRTC 12.8.
  FastCompile fast_compile = FastCompile::Off;
  /// Folders of headers, searched after those of the module or the session.
  std::vector<std::string> include_dirs{};
  /// More options of NVRTC, such as "--extra-device-vectorization".
  std::vector<std::string> extra{};
  /// "sm_90", or "compute_90" for PTX. If it is empty:
  /// GPUOS_NVRTC_ARCH, else the device's, else the newest that NVRTC supports.
  std::string arch{};
};

/// Reads options of NVRTC: "-DN=4", "--std=c++17", "--use_fast_math". An option
/// may have its value in the next flag: "-I", "include". Options without a
/// field become `extra`. Throws: InvalidArgument for a value that the field
/// cannot have.
GPUOS_API JitOptions jit_options_of(std::span<const std::string> flags);

/// Is a header that an #include finds by name, without a file.
struct JitHeader {
  std::string name{};
  std::string text{};
};

}  // namespace gpuos
