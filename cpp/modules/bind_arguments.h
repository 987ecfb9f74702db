#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gpuos/kernel_args.h"

namespace gpuos::cu {

/// The parameters of a kernel, as far as they are known.
struct ParameterList {
  /// Units: bytes. An empty optional means that the driver cannot tell.
  std::optional<std::vector<std::size_t>> bytes;
  /// The C++ types of the parameters. An extern "C" kernel does not have them.
  std::optional<std::vector<std::string>> types;
};

/// "(float*: 8 bytes, int: 4 bytes)", as far as it is known.
std::string text_of(const ParameterList& parameters);

/// Returns whether both take the same arguments: the same number, sizes and
/// types, except for the const of a pointer's target. Unknown properties are
/// not compared.
bool take_the_same(const ParameterList& a, const ParameterList& b);

/// Arguments as the driver takes them.
///
/// Lifetime: of the KernelArgs that it was made from.
class BoundArguments {
 public:
  /// Throws: InvalidArgument with both layouts if `args` do not fit.
  BoundArguments(const std::string& kernel, const ParameterList& parameters,
                 const KernelArgs& args);
  BoundArguments(const BoundArguments&) = delete;
  BoundArguments& operator=(const BoundArguments&) = delete;

  void** pointers() noexcept { return pointers_.data(); }

 private:
  std::deque<std::uint64_t> numbers_;
  std::vector<void*> pointers_;
};

}  // namespace gpuos::cu
