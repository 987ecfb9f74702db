#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jit/target.h"

namespace gpuos::jit {

/// One translation unit.
struct Unit {
  std::string_view source;
  std::string file_name;
  std::uint32_t max_registers = 0;  // 0: as many as it likes
};

/// A relocatable object.
struct Object {
  std::string name;
  std::string binary;
  bool is_ptx = false;
  std::string log{};  // what the compiler said
};

/// Compile with NVRTC. The embedded device headers are there under their own
/// name and under "gpuos/"; no other file is looked for.
/// Throws: CompileError with the first error and the log.
Object compile_unit(const Nvrtc& api, const Unit& unit, const Target& target);

/// How NVRTC is called, if it knows all of the options.
std::vector<std::string> unit_options(const Unit& unit, const Target& target);

}  // namespace gpuos::jit
