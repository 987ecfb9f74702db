#include <pybind11/pybind11.h>

#include <new>
#include <stdexcept>
#include <string>

#include "errors.h"
#include "gpuos/error.h"
#include "registrations.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Made once and never freed: an error may be raised while the interpreter
// goes down.
struct Classes {
  PyObject* error;
  PyObject* invalid_argument;
  PyObject* out_of_range;
  PyObject* backend_unavailable;
  PyObject* cuda_error;
  PyObject* compile_error;
  PyObject* host_error;
  PyObject* task_error;
  PyObject* queue_closed;
  PyObject* cancelled;
  PyObject* timeout;
} classes;

PyObject* add_class(py::module_& module, const char* name,
                    const py::object& bases) {
  const std::string qualified = std::string("gpuos.") + name;
  PyObject* made = PyErr_NewException(qualified.c_str(), bases.ptr(), nullptr);
  if (made == nullptr) throw py::error_already_set();
  module.add_object(name, py::handle(made));
  return made;
}

py::object make(PyObject* type, const std::exception& error) {
  return py::reinterpret_borrow<py::object>(type)(
      py::str(py::bytes(error.what()).attr("decode")("utf-8", "replace")));
}

void raise(const py::object& value) {
  PyErr_SetObject(py::type::of(value).ptr(), value.ptr());
}

void raise(PyObject* type, const std::exception& error) {
  raise(make(type, error));
}

// Most derived first.
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
  } catch (const OutOfRange& e) {
    raise(classes.out_of_range, e);
  } catch (const InvalidArgument& e) {
    raise(classes.invalid_argument, e);
  } catch (const BackendUnavailable& e) {
    raise(classes.backend_unavailable, e);
  } catch (const CudaError& e) {
    const py::object value = make(classes.cuda_error, e);
    value.attr("code") = e.code();
    value.attr("call") = e.call();
    raise(value);
  } catch (const CompileError& e) {
    const py::object value = make(classes.compile_error, e);
    const auto text = [](const std::string& bytes) {
      return py::bytes(bytes).attr("decode")("utf-8", "replace");
    };
    value.attr("log") = text(e.log());
    value.attr("file") = text(e.place().file);
    value.attr("line") = e.place().line;
    value.attr("column") = e.place().column;
    value.attr("excerpt") = text(e.place().excerpt);
    raise(value);
  } catch (const HostError& e) {
    const py::object value = make(classes.host_error, e);
    const auto text = [](const std::string& bytes) {
      return py::bytes(bytes).attr("decode")("utf-8", "replace");
    };
    value.attr("type") = text(e.type());
    value.attr("text") = text(e.text());
    raise(value);
  } catch (const TaskError& e) {
    const py::object value = make(classes.task_error, e);
    value.attr("operator") = e.operator_name();
    raise(value);
  } catch (const QueueClosed& e) {
    raise(classes.queue_closed, e);
  } catch (const Cancelled& e) {
    raise(classes.cancelled, e);
  } catch (const Timeout& e) {
    raise(classes.timeout, e);
  } catch (const Error& e) {
    raise(classes.error, e);
  } catch (const std::bad_alloc& e) {
    const std::string text = e.what();
    PyErr_SetString(PyExc_MemoryError,
                    text == std::bad_alloc().what()
                        ? "gpuos: expected room for more, there is none"
                        : ("gpuos: " + text).c_str());
  } catch (const std::length_error&) {
    PyErr_SetString(PyExc_MemoryError,
                    "gpuos: expected a size that memory can have");
  } catch (const std::exception& e) {
    raise(PyExc_RuntimeError, e);
  } catch (...) {
    // Thrown by code that gpuos runs but did not write.
    PyErr_SetString(classes.error,
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
  const auto base = [](PyObject* type) {
    return py::reinterpret_borrow<py::object>(type);
  };
  classes.error = add_class(module, "Error", base(PyExc_RuntimeError));
  const py::object error = base(classes.error);
  classes.invalid_argument = add_class(
      module, "InvalidArgument", py::make_tuple(error, base(PyExc_ValueError)));
  classes.out_of_range =
      add_class(module, "OutOfRange",
                py::make_tuple(base(classes.invalid_argument),
                               base(PyExc_OverflowError)));
  classes.backend_unavailable = add_class(module, "BackendUnavailable", error);
  classes.cuda_error = add_class(module, "CudaError", error);
  classes.compile_error = add_class(module, "CompileError", error);
  classes.host_error = add_class(module, "HostError", error);
  classes.task_error = add_class(module, "TaskError", error);
  classes.queue_closed = add_class(module, "QueueClosed", error);
  classes.cancelled = add_class(module, "Cancelled", error);
  classes.timeout = add_class(module, "Timeout",
                              py::make_tuple(error, base(PyExc_TimeoutError)));
  py::register_local_exception_translator([](std::exception_ptr thrown) {
    if (thrown) set_python_error(thrown);
  });
}

}  // namespace gpuos::python
