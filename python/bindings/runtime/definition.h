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

/// Holds the keywords of define() and replace() for objects of another
/// compiler. It lives as long as these functions run.
struct ObjectArguments {
  const pybind11::object& ptx;
  const pybind11::object& ltoir;
  const pybind11::object& cubin;
  const pybind11::object& symbol;
};

/// Reads the arguments of define() and replace(). None in `params` or `dtype`
/// keeps those of `base`. A Definition may replace the expression, and then
/// only its name differs. Throws: InvalidArgument.
OperatorDefinition definition_from(
    OperatorDefinition base, const pybind11::object& expression,
    const pybind11::object& source, const ObjectArguments& object,
    const pybind11::object& params, const pybind11::object& dtype,
    const pybind11::object& inputs, const pybind11::object& elementwise,
    const pybind11::object& checked);

/// Reads a dict of the keywords of define(), which has 'name', or a Definition.
/// `where` begins the messages. Throws: InvalidArgument, TypeError.
OperatorDefinition definition_from_dict(const pybind11::object& given,
                                        const std::string& where);

}  // namespace gpuos::python
