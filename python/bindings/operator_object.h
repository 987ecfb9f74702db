#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <string>
#include <vector>

#include "gpuos/operator.h"

namespace gpuos::python {

class RuntimeObject;

/// What Python calls gpuos.Operator.
struct OperatorObject {
  /// Keeps all of `definition` but its texts. `owner` is only compared.
  OperatorObject(const RuntimeObject* owner, Operator op,
                 OperatorDefinition definition);

  const RuntimeObject* owner;
  Operator op;
  OperatorDefinition definition;           // its texts are empty
  std::vector<pybind11::str> param_names;  // interned, in order
};

using OperatorPtr = std::shared_ptr<OperatorObject>;

/// What Python calls gpuos.Alias.
struct AliasObject {
  std::shared_ptr<RuntimeObject> runtime;
  Alias alias;
  OperatorPtr as_operator;
};

/// The types' objects, for exact type checks; set when they are registered.
extern PyTypeObject* operator_type;
extern PyTypeObject* alias_type;

}  // namespace gpuos::python
