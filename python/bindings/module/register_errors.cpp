#include <pybind11/pybind11.h>

#include <new>
#include <stdexcept>
#include <string>

#include "gpuos/error.h"
#include "module/errors.h"
#include "module/registrations.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Holds the Python class for each C++ class. It is never freed, because an
// error may be raised while the interpreter exits.
template <typename E>
PyObject* python_class = nullptr;

template <typename E>
void add_error(py::module_& module, const char* name, PyObject* base,
               PyObject* other_base = nullptr) {
  py::tuple bases = py::make_tuple(py::handle(base));
  if (other_base != nullptr)
    bases = py::make_tuple(py::handle(base), py::handle(other_base));
  const std::string qualified = std::string("gpuos.") + name;
  PyObject* made = PyErr_NewException(qualified.c_str(), bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.add_object(name, py::handle(made));
  python_class<E> = made;
}

py::object decoded(const std::string& bytes) {
  return py::bytes(bytes).attr("decode")("utf-8", "replace");
}

// Sets the attributes that an error has in addition to its message.
void add_attributes(const py::object&, const std::exception&) {}
void add_attributes(const py::object& value, const CudaError& error) {
  value.attr("code") = error.code();
  value.attr("call") = error.call();
}
void add_attributes(const py::object& value, const CompileError& error) {
  value.attr("log") = decoded(error.log());
  value.attr("file") = decoded(error.place().file);
  value.attr("line") = error.place().line;
  value.attr("column") = error.place().column;
  value.attr("excerpt") = decoded(error.place().excerpt);
}
void add_attributes(const py::object& value, const HostError& error) {
  value.attr("type") = decoded(error.type());
  value.attr("text") = decoded(error.text());
}
void add_attributes(const py::object& value, const TaskError& error) {
  value.attr("operator") = error.operator_name();
}

template <typename E>
bool raise_as(const std::exception& error) {
  const auto* const known = dynamic_cast<const E*>(&error);
  if (known == nullptr) return false;
  const py::object value = py::handle(python_class<E>)(decoded(known->what()));
  add_attributes(value, *known);
  PyErr_SetObject(python_class<E>, value.ptr());
  return true;
}

// Tries the classes in order. The most derived ones come first.
template <typename... E>
void raise_as_first(const std::exception& error) {
  static_cast<void>((raise_as<E>(error) || ...));
}

void rethrow_into_python(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (const py::cast_error&) {
    // Arguments with a reader (reading.h) never come here.
    PyErr_SetString(PyExc_TypeError,
                    "gpuos: expected an argument of another type");
  } catch (const py::builtin_exception& e) {
    e.set_error();
  } catch (const InvalidArgument& e) {
    raise_as_first<OutOfRange, WrongType, InvalidArgument>(e);
  } catch (const Error& e) {
    raise_as_first<BackendUnavailable, CudaError, CompileError, HostError,
                   TaskError, QueueClosed, Cancelled, Timeout, Error>(e);
  } catch (const std::bad_alloc& e) {
    const std::string text = e.what();
    PyErr_SetString(PyExc_MemoryError,
                    text == std::bad_alloc().what()
                        ? "gpuos: expected free memory, got none"
                        : ("gpuos: " + text).c_str());
  } catch (const std::length_error&) {
    PyErr_SetString(PyExc_MemoryError,
                    "gpuos: expected a size that memory can have");
  } catch (const std::exception& e) {
    PyErr_SetObject(PyExc_RuntimeError, decoded(e.what()).ptr());
  } catch (...) {
    // Code that gpuos runs but did not write threw this.
    PyErr_SetString(python_class<Error>,
                    "gpuos: expected no exceptions but those of C++'s standard "
                    "library, got another");
  }
}

}  // namespace

void set_python_error(const std::exception_ptr& error) noexcept {
  try {
    rethrow_into_python(error);
  } catch (py::error_already_set& e) {
    e.restore();
  } catch (...) {
    PyErr_SetString(PyExc_SystemError, "gpuos: an error could not be reported");
  }
}

void register_errors(py::module_& module) {
  add_error<Error>(module, "Error", PyExc_RuntimeError);
  PyObject* error = python_class<Error>;
  add_error<InvalidArgument>(module, "InvalidArgument", error,
                             PyExc_ValueError);
  add_error<OutOfRange>(module, "OutOfRange", python_class<InvalidArgument>,
                        PyExc_OverflowError);
  add_error<WrongType>(module, "WrongType", python_class<InvalidArgument>,
                       PyExc_TypeError);
  add_error<BackendUnavailable>(module, "BackendUnavailable", error);
  add_error<CudaError>(module, "CudaError", error);
  add_error<CompileError>(module, "CompileError", error);
  add_error<HostError>(module, "HostError", error);
  add_error<TaskError>(module, "TaskError", error);
  add_error<QueueClosed>(module, "QueueClosed", error);
  add_error<Cancelled>(module, "Cancelled", error);
  add_error<Timeout>(module, "Timeout", error, PyExc_TimeoutError);
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    if (thrown) set_python_error(thrown);
  });
}

}  // namespace gpuos::python
