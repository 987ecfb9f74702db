#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpuos/operator.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Implements Python's gpuos.Definition. It never changes after it is made.
struct DefinitionObject {
  OperatorDefinition given;
  std::uint64_t version = 0;  // version of the operator that it was taken from
  std::string digest;
};

/// Throws: InvalidArgument if a value is not of its parameter's dtype.
std::shared_ptr<DefinitionObject> make_definition(OperatorDefinition given,
                                                  std::uint64_t version);

/// Returns the definition of the current version. Throws: InvalidArgument if it
/// cannot be defined elsewhere.
std::shared_ptr<DefinitionObject> definition_of(const Operator& op);

/// Returns null for any other object.
const DefinitionObject* as_definition(pybind11::handle object);

/// Returns the number as a Python object.
pybind11::object number_of(const Scalar& scalar);

}  // namespace gpuos::python
