#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "gpuos/operator.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

class RuntimeObject;

/// Limits output, inputs and scalars of one task together. Runtime::define()
/// takes no more.
inline constexpr std::size_t kMaxArguments = 32;

/// Implements Python's gpuos.Operator.
struct OperatorObject : std::enable_shared_from_this<OperatorObject> {
  /// Keeps `given` except its texts. `runtime` is only compared.
  /// Throws: InvalidArgument for more parameters than a task has arguments.
  OperatorObject(const RuntimeObject* runtime, Operator made,
                 OperatorDefinition given);

  const RuntimeObject* owner;
  Operator op;
  OperatorDefinition definition;           // its texts are empty
  std::vector<pybind11::str> param_names;  // interned, in order
};

using OperatorPtr = std::shared_ptr<OperatorObject>;

/// Implements Python's gpuos.Alias.
struct AliasObject {
  std::shared_ptr<RuntimeObject> runtime;
  Alias alias;
  OperatorPtr as_operator;
};

/// Holds the types' objects, for exact type checks. They are set when they are
/// registered.
extern PyTypeObject* operator_type;
extern PyTypeObject* alias_type;

}  // namespace gpuos::python
