#include "ticket_object.h"

#include <pybind11/pybind11.h>

#include <string>

#include "errors.h"
#include "native.h"
#include "reading.h"
#include "registrations.h"
#include "runtime_object.h"
#include "without_gil.h"

namespace py = pybind11;

namespace gpuos::python {

PyTypeObject* ticket_type = nullptr;

namespace {

TicketObject* as_ticket(PyObject* self) {
  return reinterpret_cast<TicketObject*>(self);
}

RuntimeObject& runtime_of(PyObject* self) {
  return *native<RuntimeObject>(as_ticket(self)->runtime);
}

void dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  Py_DECREF(as_ticket(self)->runtime);
  PyObject_Free(self);
  Py_DECREF(type);
}

Py_hash_t hash(PyObject* self) {
  const Ticket& t = as_ticket(self)->ticket;
  constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15u;
  const std::uint64_t mixed =
      (t.begin * kMix) ^ (t.end + (std::uint64_t{t.runtime} << 32) +
                          (std::uint64_t{t.member} << 16) + t.ring);
  const auto value = static_cast<Py_hash_t>(mixed);
  return value == -1 ? -2 : value;  // -1 means an error
}

PyObject* compare(PyObject* self, PyObject* other, int operation) {
  if (Py_TYPE(other) != ticket_type ||
      (operation != Py_EQ && operation != Py_NE))
    Py_RETURN_NOTIMPLEMENTED;
  const bool is_same = as_ticket(self)->ticket == as_ticket(other)->ticket;
  return PyBool_FromLong(is_same == (operation == Py_EQ));
}

PyObject* repr(PyObject* self) {
  const Ticket& t = as_ticket(self)->ticket;
  return PyUnicode_FromFormat("gpuos.Ticket(begin=%llu, end=%llu)",
                              static_cast<unsigned long long>(t.begin),
                              static_cast<unsigned long long>(t.end));
}

PyObject* get_done(PyObject* self, void* /*unused*/) {
  return guarded([&]() -> PyObject* {
    Runtime& core = runtime_of(self).core();
    bool is_done = false;
    {
      const WithoutGil no_gil;
      is_done = core.is_done(as_ticket(self)->ticket);
    }
    return PyBool_FromLong(is_done);
  });
}

PyObject* wait(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"timeout", nullptr};
  PyObject* timeout = Py_None;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:wait",
                                   const_cast<char**>(names), &timeout))
    return nullptr;
  return guarded([&]() -> PyObject* {
    runtime_of(self).wait(as_ticket(self)->ticket,
                          Deadline::from_timeout(timeout, "wait"));
    Py_RETURN_NONE;
  });
}

PyMethodDef methods[] = {
    {"wait", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(wait)),
     METH_VARARGS | METH_KEYWORDS,
     "wait($self, /, timeout=None)\n--\n\n"
     "Wait for the task; the same as Runtime.wait(ticket, timeout).\n\n"
     "Parameters\n----------\n"
     "timeout : float or None\n    Seconds; None waits for ever.\n\n"
     "Raises\n------\n"
     "Timeout\n    If it is not done in time.\n"
     "TaskError\n    If the task failed."},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {
    {"done", get_done, nullptr,
     "Whether the task is done. Raises TaskError if it failed.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "What submit() returns: wait for it, or ask if it is "
                    "done.\n\nHashable; equal tickets mean the same tasks.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
    {Py_tp_hash, reinterpret_cast<void*>(hash)},
    {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
    {Py_tp_repr, reinterpret_cast<void*>(repr)},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, nullptr}};

PyType_Spec spec = {"gpuos.Ticket", sizeof(TicketObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                        Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

}  // namespace

PyObject* make_ticket(const Ticket& ticket, PyObject* runtime) noexcept {
  TicketObject* made = PyObject_New(TicketObject, ticket_type);
  if (made == nullptr) return nullptr;
  made->ticket = ticket;
  Py_INCREF(runtime);
  made->runtime = runtime;
  return reinterpret_cast<PyObject*>(made);
}

const Ticket& ticket_of(PyObject* object) {
  if (Py_TYPE(object) != ticket_type) {
    refuse_type("wait", "a Ticket", object);
  }
  return as_ticket(object)->ticket;
}

void register_ticket(py::module_& module) {
  ticket_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (ticket_type == nullptr) throw py::error_already_set();
  module.add_object("Ticket", reinterpret_cast<PyObject*>(ticket_type));
}

}  // namespace gpuos::python
