#include "module/registrations.h"

#include <pybind11/pybind11.h>

#include <tuple>
#include <utility>

#include "convert/reading.h"
#include "module/errors.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Python calls pybind11 with an array since pybind11 3.1, and with a tuple
// before.
using FastCall = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t,
                               PyObject*);
using TupleCall = PyObject* (*)(PyObject*, PyObject*, PyObject*);
constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
constexpr int kTuple = METH_VARARGS | METH_KEYWORDS;

// This is pybind11's own function, which serves all functions that it makes.
PyCFunction pybind11_call = nullptr;

template <typename Function>
Function as_function(PyCFunction function) {
  return reinterpret_cast<Function>(reinterpret_cast<void (*)()>(function));
}

// Replaces the text of pybind11's error.
void reword(const py::tuple& args, const py::dict& keywords) {
  py::error_already_set refused;
  const py::object text =
      python_module("gpuos.refusals")
          .attr("reworded")(whole_text(refused.value()), args, keywords);
  if (text.is_none())
    refused.restore();
  else
    PyErr_SetObject(PyExc_TypeError, text.ptr());
}

// Calls pybind11's function. `given` returns the arguments for an error.
template <typename Call, typename Given>
PyObject* in_our_words(Call call, Given given) noexcept {
  PyObject* result = guarded(call);
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    guarded([&]() -> PyObject* {
      std::apply(reword, given());
      return nullptr;
    });
  }
  return result;
}

// Refuses None as self. pybind11 takes it for a null pointer if no argument has
// a name.
void refuse_none(const PyObject* self) {
  if (self == Py_None)
    throw py::type_error(
        "gpuos: expected an object of the method's class as self, got None");
}

template <bool kIsMethod>
PyObject* fast_call(PyObject* self, PyObject* const* args, Py_ssize_t count,
                    PyObject* names) noexcept {
  PyObject* first_argument =
      PyVectorcall_NARGS(static_cast<std::size_t>(count)) > 0 ? args[0]
                                                              : nullptr;
  return in_our_words(
      [&] {
        if constexpr (kIsMethod) refuse_none(first_argument);
        return as_function<FastCall>(pybind11_call)(self, args, count, names);
      },
      [&] {
        const Py_ssize_t positional =
            PyVectorcall_NARGS(static_cast<std::size_t>(count));
        py::tuple all(positional);
        for (Py_ssize_t i = 0; i < positional; ++i)
          all[static_cast<std::size_t>(i)] = py::handle(args[i]);
        py::dict keywords;
        const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
        for (Py_ssize_t i = 0; i < named; ++i)
          keywords[py::handle(PyTuple_GET_ITEM(names, i))] =
              py::handle(args[positional + i]);
        return std::pair(all, keywords);
      });
}

template <bool kIsMethod>
PyObject* tuple_call(PyObject* self, PyObject* args, PyObject* names) noexcept {
  PyObject* first_argument =
      PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : nullptr;
  return in_our_words(
      [&] {
        if constexpr (kIsMethod) refuse_none(first_argument);
        return as_function<TupleCall>(pybind11_call)(self, args, names);
      },
      [&] {
        return std::pair(py::reinterpret_borrow<py::tuple>(args),
                         names == nullptr
                             ? py::dict()
                             : py::reinterpret_borrow<py::dict>(names));
      });
}

template <bool kIsMethod>
auto wrapper(bool is_fast) noexcept {
  return is_fast ? reinterpret_cast<void (*)()>(fast_call<kIsMethod>)
                 : reinterpret_cast<void (*)()>(tuple_call<kIsMethod>);
}

// Returns the function of a method, a static method or a property.
py::object function_in(py::handle member) {
  PyObject* object = member.ptr();
  if (PyInstanceMethod_Check(object))
    return py::reinterpret_borrow<py::object>(
        PyInstanceMethod_GET_FUNCTION(object));
  for (const char* name : {"fget", "__func__"}) {
    if (py::hasattr(member, name)) return function_in(member.attr(name));
  }
  return py::reinterpret_borrow<py::object>(member);
}

void put_before(py::handle member) {
  const py::object function = function_in(member);
  if (!PyCFunction_Check(function.ptr())) return;
  PyMethodDef* definition =
      reinterpret_cast<PyCFunctionObject*>(function.ptr())->m_ml;
  if (definition->ml_meth != pybind11_call) return;
  const bool is_fast = definition->ml_flags == kFast;
  if (!is_fast && definition->ml_flags != kTuple) return;
  const bool is_method =
      PyInstanceMethod_Check(member.ptr()) || py::hasattr(member, "fget");
  const auto ours =
      is_method ? wrapper<true>(is_fast) : wrapper<false>(is_fast);
  definition->ml_meth = reinterpret_cast<PyCFunction>(ours);
}

// Refuses objects whose __init__ never ran, for which pybind11 would return
// uninitialised memory.
void refuse_unmade(py::handle type) {
  auto* info =
      py::detail::get_type_info(reinterpret_cast<PyTypeObject*>(type.ptr()));
  if (info == nullptr) return;
  info->operator_new = [](std::size_t) -> void* {
    throw py::type_error(
        "gpuos: expected an object that was made by calling its class, got one "
        "whose __init__ never ran");
  };
}

}  // namespace

void reword_refusals(const py::module_& module) {
  const py::cpp_function any([] {});
  pybind11_call =
      reinterpret_cast<PyCFunctionObject*>(any.ptr())->m_ml->ml_meth;
  const py::dict names = module.attr("__dict__");
  for (const auto& [name, member] : names) {
    put_before(member);
    if (PyType_Check(member.ptr()) == 0) continue;
    refuse_unmade(member);
    const py::list members = py::reinterpret_steal<py::list>(
        PyMapping_Values(py::object(member.attr("__dict__")).ptr()));
    for (const py::handle part : members) put_before(part);
  }
}

}  // namespace gpuos::python
