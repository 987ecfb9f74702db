#pragma once

#include <Python.h>

#include <cstddef>

#include "gpuos/ticket.h"

namespace gpuos::python {

class RuntimeObject;

/// Implements Runtime.submit_many(). `args` are the operator and the columns,
/// and `names` are the names of the keyword arguments that follow.
Ticket submit_many(RuntimeObject& runtime, PyObject* const* args,
                   std::size_t count, PyObject* names);

}  // namespace gpuos::python
