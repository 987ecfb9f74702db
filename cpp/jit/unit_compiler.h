#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/jit_options.h"
#include "jit/image.h"
#include "jit/target.h"

namespace gpuos::jit {

/// One translation unit.
struct Unit {
  std::string_view source;
  std::string file_name{};
  JitOptions options{};
  /// Found by name, before the embedded ones of the same name.
  std::vector<JitHeader> headers{};
  std::vector<std::string> include_dirs{};
  /// "k<float>": instantiated, and their symbols are told.
  std::vector<std::string> name_expressions{};
  /// To be linked with others; else whole.
  bool relocatable = true;
  /// Whether to make LTO-IR, which is optimised together with others.
  bool as_lto = false;
  /// Gives up when it says so.
  std::stop_token stop{};
};

/// The function for which an object was given that another compiler made.
struct WantedFunction {
  std::string where;        // for messages: the operator's name
  std::string symbol;       // "f"
  std::string declaration;  // "float f(float, float)"
  std::string signature;    // "iii", see PtxFunction
};

/// Compiled code, from NVRTC or from the user.
struct Object {
  std::string name{};
  std::string binary{};
  bool is_ptx = false;
  bool is_lto = false;  // LTO-IR, which link_time_optimized() takes
  std::optional<WantedFunction> given{};  // set: NVRTC did not make it
  std::string log{};                      // what the compiler said
  std::vector<LoweredName> symbols{};     // of the name expressions
};

/// Compile with NVRTC. The embedded device headers are there under their own
/// name and under "gpuos/"; no other file is looked for but in
/// `unit.include_dirs`.
/// Throws: CompileError with the first error and the log, Cancelled.
Object compile_unit(const Nvrtc& api, const Unit& unit, const Target& target);

/// How NVRTC is called, if it knows all of the options.
std::vector<std::string> unit_options(const Unit& unit, const Target& target);

}  // namespace gpuos::jit
