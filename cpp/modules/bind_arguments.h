#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "gpuos/kernel_args.h"

namespace gpuos::cu {

/// What a kernel takes, as far as it is known.
struct ParameterList {
  /// Units: bytes; empty optional: the driver cannot tell.
  std::optional<std::vector<std::size_t>> bytes;
  /// As C++ spells them; empty optional: an extern "C" kernel.
  std::optional<std::vector<std::string>> types;
};

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
