#pragma once

#include <Python.h>

#include "gpuos/ticket.h"

namespace gpuos::python {

/// Implements Python's gpuos.Ticket. It is a plain C object, because every
/// submission makes one.
struct TicketObject {
  PyObject_HEAD Ticket ticket;
  PyObject* runtime;  // owned
};

extern PyTypeObject* ticket_type;

/// Returns a ticket. `runtime` is a gpuos.Runtime. Returns null with a pending
/// error if memory is out.
PyObject* make_ticket(const Ticket& ticket, PyObject* runtime) noexcept;

/// Throws: TypeError if `object` is no Ticket.
const Ticket& ticket_of(PyObject* object);

}  // namespace gpuos::python
