#pragma once

#include <string>

#include "gpuos/operator.h"
#include "pybind_objects.h"

namespace gpuos::python {

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
