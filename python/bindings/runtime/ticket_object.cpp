
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

#include "convert/native.h"
#include "convert/reading.h"
#include "module/errors.h"
#include "module/python_module.h"
#include "module/registrations.h"
#include "module/without_gil.h"
#include "runtime/runtime_object.h"
#include "runtime/waiting.h"

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
    if (is_done) runtime_of(self).drain_done();
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

PyObject* add_done_callback(PyObject* self, PyObject* callback) {
  return guarded([&]() -> PyObject* {
    return python_module("gpuos.awaiting")
        .attr("add_done_callback")(py::handle(self), py::handle(callback))
        .release()
        .ptr();
  });
}

PyObject* await(PyObject* self) {
  return guarded([&]() -> PyObject* {
    return python_module("gpuos.awaiting")
        .attr("wait_in_loop")(py::handle(self))
        .release()
        .ptr();
  });
}

PyObject* reduce(PyObject* /*self*/, PyObject* /*protocol*/) {
  return guarded([&]() -> PyObject* {
    return python_module("gpuos.sending")
        .attr("refuse")("Ticket")
        .release()
        .ptr();
  });
}

PyMethodDef methods[] = {
    {"add_done_callback", add_done_callback, METH_O,
     "add_done_callback($self, callback, /)\n--\n\n"},
    {"__reduce_ex__", reduce, METH_O,
     "__reduce_ex__($self, protocol, /)\n--\n\n"},
    {"wait", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(wait)),
     METH_VARARGS | METH_KEYWORDS, "wait($self, /, timeout=None)\n--\n\n"},
    {nullptr, nullptr, 0, nullptr}};

PyGetSetDef properties[] = {{"done", get_done, nullptr, nullptr, nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(dealloc)},
                       {Py_tp_hash, reinterpret_cast<void*>(hash)},
                       {Py_tp_richcompare, reinterpret_cast<void*>(compare)},
                       {Py_tp_repr, reinterpret_cast<void*>(repr)},
                       {Py_am_await, reinterpret_cast<void*>(await)},
                       {Py_tp_methods, methods},
                       {Py_tp_getset, properties},
                       {0, nullptr}};

PyType_Spec spec = {"gpuos.Ticket", sizeof(TicketObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                        Py_TPFLAGS_IMMUTABLETYPE,
                    slots};

bool is_over(Runtime& core, const Ticket& ticket,
             std::chrono::nanoseconds timeout) noexcept {
  try {
    return core.wait(ticket, timeout);
  } catch (...) {
    return true;  // a wait for the ticket reports the error
  }
}

// Returns whether the task ends soon. A waiting thread runs small tasks itself,
// before a worker has woken up.
bool is_over_soon(const py::object& given, double timeout) {
  const Ticket& ticket = ticket_of(given.ptr());
  Runtime& core = runtime_of(given.ptr()).core();
  const Deadline deadline =
      Deadline::from_timeout(py::float_(timeout), "timeout");
  const WithoutGil no_gil;
  return is_over(core, ticket, deadline.next_slice());
}

// Releases the GIL, looks at all tickets, and then waits for one.
std::vector<std::size_t> first_done(const py::object& given, double timeout) {
  constexpr std::size_t kMost = 64;  // handled without a pause
  constexpr std::chrono::microseconds kFirstSlice{100};
  constexpr std::chrono::milliseconds kLastSlice{2};
  struct Pending {
    Runtime* core;
    Ticket ticket;
  };
  const py::tuple tickets = items_of(given, "tickets");  // they hold runtimes
  const Deadline deadline =
      Deadline::from_timeout(py::float_(timeout), "tickets");
  std::vector<Pending> all;
  for (const py::handle ticket : tickets) {
    const Ticket& checked = ticket_of(ticket.ptr());
    all.push_back({&runtime_of(ticket.ptr()).core(), checked});
  }
  std::vector<std::size_t> done;
  if (all.empty()) return done;
  const WithoutGil no_gil;
  for (std::chrono::nanoseconds slice = kFirstSlice;;
       slice = std::min<std::chrono::nanoseconds>(2 * slice, kLastSlice)) {
    for (std::size_t i = 0; i < all.size() && done.size() < kMost; ++i)
      if (is_over(*all[i].core, all[i].ticket, {})) done.push_back(i);
    if (!done.empty() || deadline.has_passed()) return done;
    static_cast<void>(is_over(*all[0].core, all[0].ticket,
                              std::min(slice, deadline.next_slice())));
  }
}

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
  module.def("_is_over", &is_over_soon, py::arg("ticket"), py::arg("timeout"));
  module.def("_first_done", &first_done, py::arg("tickets"),
             py::arg("timeout"));
}

}  // namespace gpuos::python
