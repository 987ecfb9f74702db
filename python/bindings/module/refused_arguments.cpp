#include "module/registrations.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "convert/reading.h"
#include "module/errors.h"

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

void replace_all(std::string& text, std::string_view from,
                 std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

struct Expectation {
  std::string name;    // empty, and so is `wanted`: nothing was expected
  std::string wanted;  // "(shape: object)"
  std::string self;    // the class of a method's first argument
  bool is_class = false;
};

// Reads "empty(): incompatible function arguments. ...\n    1. (self:
// gpuos.Runtime, shape: object) -> ...\n". Returns an empty result for another
// text. The name of a property is not in the text.
Expectation expectation_from(const std::string& text) {
  const std::size_t name_end = text.find("(): incompatible ");
  const std::size_t first = text.find("\n    1. ");
  if (name_end == std::string::npos || first == std::string::npos) return {};
  const std::size_t begin = first + 8;
  std::string line = text.substr(begin, text.find('\n', begin) - begin);
  line.erase(std::min(line.rfind(" -> "), line.size()));
  Expectation made;
  made.name = text.substr(0, name_end);
  const std::size_t open = line.find('(');
  if (open == std::string::npos) return {};
  made.is_class = open > 0;
  if (made.is_class) made.name = line.substr(0, open);
  made.wanted = line.substr(open);
  for (const std::string_view self : {"(self: ", "(arg0: "}) {
    if (!made.wanted.starts_with(self)) continue;
    const std::size_t end = made.wanted.find_first_of(",)");
    made.self = made.wanted.substr(self.size(), end - self.size());
    made.wanted.erase(1, made.wanted[end] == ',' ? end + 1 : end - 1);
  }
  for (std::string* part : {&made.name, &made.wanted, &made.self})
    replace_all(*part, "gpuos._core.", part == &made.name ? "" : "gpuos.");
  replace_all(made.wanted, "( ", "(");
  return made;
}

bool is_of_class(py::handle object, const std::string& name) {
  const std::size_t dot = name.find('.');
  if (dot == std::string::npos) return true;  // any class
  for (const py::handle kind : py::type::of(object).attr("__mro__")) {
    const std::string own =
        shown(kind.attr("__module__")) + "." + shown(kind.attr("__qualname__"));
    if (own == name || own == "gpuos._core" + name.substr(dot)) return true;
  }
  return false;
}

// Holds the given arguments: the positional ones, then the named ones.
class Given {
 public:
  void add(py::handle name, py::handle value) {
    if (!text_.empty()) text_ += ", ";
    if (name) text_ += shown(name) + "=";
    text_ += kind_shown(value);
  }
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

// Replaces pybind11's error. `add_given` adds the arguments from an index on.
template <typename AddGiven>
void reword(py::handle self, AddGiven add_given) {
  py::error_already_set refused;
  const Expectation wanted = expectation_from(whole_text(refused.value()));
  if (wanted.wanted.empty()) {
    refused.restore();
    return;
  }
  const std::string where = wanted.name.empty() ? "" : wanted.name + ": ";
  std::string text = where + "expected " + wanted.wanted;
  Given given;
  const bool has_self = wanted.is_class || !wanted.self.empty();
  if (!wanted.self.empty() && self && !is_of_class(self, wanted.self)) {
    text = where + "expected a " + wanted.self + " as self";
    given.add({}, self);
  } else {
    add_given(given, has_self ? 1 : 0);
  }
  PyErr_SetString(PyExc_TypeError,
                  (text + ", got (" + given.text() + ")").c_str());
}

template <typename Call, typename AddGiven>
PyObject* in_our_words(Call call, PyObject* self, AddGiven add_given) noexcept {
  PyObject* result = guarded(call);
  if (result == nullptr && PyErr_ExceptionMatches(PyExc_TypeError) != 0) {
    guarded([&]() -> PyObject* {
      reword(self, add_given);
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
      first_argument,
      [&](Given& given, Py_ssize_t first) {
        const Py_ssize_t positional =
            PyVectorcall_NARGS(static_cast<std::size_t>(count));
        for (Py_ssize_t i = first; i < positional; ++i) given.add({}, args[i]);
        const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
        for (Py_ssize_t i = 0; i < named; ++i)
          given.add(PyTuple_GET_ITEM(names, i), args[positional + i]);
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
      first_argument,
      [&](Given& given, Py_ssize_t first) {
        const Py_ssize_t count = PyTuple_GET_SIZE(args);
        for (Py_ssize_t i = first; i < count; ++i)
          given.add({}, PyTuple_GET_ITEM(args, i));
        PyObject* name = nullptr;
        PyObject* value = nullptr;
        Py_ssize_t at = 0;
        while (names != nullptr && PyDict_Next(names, &at, &name, &value) != 0)
          given.add(name, value);
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
