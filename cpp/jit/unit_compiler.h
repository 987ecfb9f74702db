#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/jit_options.h"
#include "jit/objects/image.h"
#include "jit/toolkit/target.h"

namespace gpuos::jit {

/// Holds one translation unit.
struct Unit {
  std::string_view source;
  std::string file_name{};
  JitOptions options{};
  /// Holds headers that NVRTC finds by name, before the embedded ones of an
  /// equal name.
  std::vector<JitHeader> headers{};
  std::vector<std::string> include_dirs{};
  /// Lists instances such as "k<float>" to make. The compiler returns their
  /// symbols.
  std::vector<std::string> name_expressions{};
  /// Tells if the code is to be linked with others. Otherwise it is whole.
  bool relocatable = true;
  /// Tells if NVRTC makes LTO-IR, which is optimised together with others.
  bool as_lto = false;
  /// Makes the compilation give up after a stop request.
  std::stop_token stop{};
};

/// Describes the function for which an object of another compiler was given.
struct WantedFunction {
  std::string where;        // for messages: the operator's name
  std::string symbol;       // "f"
  std::string declaration;  // "float f(float, float)"
  std::string signature;    // "iii", see PtxFunction
};

/// Holds compiled code, from NVRTC or from the user.
struct Object {
  std::string name{};
  std::string binary{};
  bool is_ptx = false;
  bool is_lto = false;  // LTO-IR, which link_time_optimized() takes
  std::optional<WantedFunction> given{};  // set: NVRTC did not make it
  std::string log{};                      // output of the compiler
  std::vector<LoweredName> symbols{};     // symbols of the name expressions
};

/// Compiles with NVRTC. The embedded device headers have their own name and a
/// name under "gpuos/". NVRTC searches other files only in `unit.include_dirs`.
/// Throws: CompileError with the first error and the log, Cancelled.
Object compile_unit(const Nvrtc& api, const Unit& unit, const Target& target);

/// Returns the options of NVRTC, if it knows all of them.
std::vector<std::string> unit_options(const Unit& unit, const Target& target);

}  // namespace gpuos::jit
