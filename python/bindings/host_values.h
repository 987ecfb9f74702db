#pragma once

#include <string>

#include "gpuos/session.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Returns the value of a variable, or of a copy of one. It is a number, a
/// string, or a copy of an array of numbers. The value of a pointer is its
/// address.
/// Throws: InvalidArgument for another type.
pybind11::object host_value(const std::string& name,
                            const HostVariableInfo& variable);

/// Sets the value. Throws: InvalidArgument for another type or shape, or a
/// constant.
void set_host_value(const std::string& name, const HostVariableInfo& variable,
                    const pybind11::object& value);

}  // namespace gpuos::python
