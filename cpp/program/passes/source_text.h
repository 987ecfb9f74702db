#pragma once

#include <string>
#include <vector>

#include "program/passes/operations.h"

namespace gpuos::program {

struct SourceValue {
  std::string text;
  Type type{};
};

/// Return the C++ names of the type of computation and of the stored type.
const char* type_name(Type type);
const char* stored_name(DType dtype);
/// The type of a step's value.
Type step_type(const Step& step);
/// The functor of device/compiled/reductions.h.
const char* info_of_reduction(Op op);

/// Writes `operation` of operands. It is not for loads, stores, scalars,
/// conditions and reductions.
SourceValue call_of(const Operation& operation,
                    const std::vector<std::string>& operands);

/// The headers of functions that a pass needs. With few headers a small pass
/// compiles in a third of the time.
class NeededHeaders {
 public:
  void add(const Operation& operation);
  std::string includes() const;

 private:
  bool real_ = false;
  bool neural_ = false;
  bool complex_ = false;
};

/// Roughly, in additions.
std::size_t work_of(const Step& step);
/// Returns the cost in additions of floats on the device.
std::size_t cost_of(const Step& step);

}  // namespace gpuos::program
