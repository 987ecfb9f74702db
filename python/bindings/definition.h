#pragma once

#include "gpuos/operator.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// What define() and replace() were given. None in `params` or `dtype` keeps
/// what `base` has. Throws: InvalidArgument.
OperatorDefinition definition_from(
    OperatorDefinition base, const pybind11::object& expression,
    const pybind11::object& source, const pybind11::object& params,
    const pybind11::object& dtype, const pybind11::object& inputs,
    const pybind11::object& elementwise, const pybind11::object& checked);

}  // namespace gpuos::python
