#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuos::jit {

/// Describes a function or kernel of a PTX text.
struct PtxFunction {
  std::string name;
  /// Holds the signature as linkers compare it: the result, then the
  /// parameters. "v" is nothing, "i" 4 bytes or less, "l" 8, and "b16" a
  /// structure of 16. "?" is any other.
  std::string signature;
  bool is_kernel = false;
  bool is_defined = false;  // the function has a body
  bool is_visible = false;  // visible to other objects: .visible or .weak
};

struct PtxText {
  std::string architecture;  // "90a" of ".target sm_90a, debug"; empty: none
  std::vector<PtxFunction> functions;
};

/// Reads a text. A text that is no PTX gives an empty result.
PtxText read_ptx(std::string_view text);

}  // namespace gpuos::jit
