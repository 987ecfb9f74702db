#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpuos/operator.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Implements Python's gpuos.Definition. It never changes after it is made.
struct DefinitionObject {
  OperatorDefinition given;
  std::uint64_t version = 0;  // version of the operator that it was taken from
  std::string digest;
};

/// Returns the definition of the current version. Throws: InvalidArgument if it
/// cannot be defined elsewhere.
std::shared_ptr<DefinitionObject> definition_of(const Operator& op);

/// Returns null for any other object.
const DefinitionObject* as_definition(pybind11::handle object);

/// Returns the number as a Python object.
pybind11::object number_of(const Scalar& scalar);

/// Returns None for an empty text.
pybind11::object text_or_none(const std::string& text);

/// Throws: InvalidArgument, beginning with `where`, if a call with a Definition
/// has other arguments.
void check_alone(const std::string& where, const pybind11::object& expression,
                 const pybind11::dict& keywords);

/// Reads the arguments of define() and replace(). Without `params` or `dtype`
/// those of `base` stay. A Definition may replace the expression, and then only
/// its name differs. `tiered` is known only if `may_be_tiered`.
/// Throws: InvalidArgument, TypeError naming `where` for an unknown keyword.
OperatorDefinition definition_from(OperatorDefinition base,
                                   const pybind11::object& expression,
                                   const pybind11::dict& keywords,
                                   const std::string& where,
                                   bool may_be_tiered = false);

/// Reads a dict of the keywords of define(), which has 'name', or a Definition.
/// `where` begins the messages. Throws: InvalidArgument, TypeError.
OperatorDefinition definition_from_dict(const pybind11::object& given,
                                        const std::string& where);

}  // namespace gpuos::python
