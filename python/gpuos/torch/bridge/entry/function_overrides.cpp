#include "entry/method_overrides.h"

#include <Python.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <array>
#include <optional>

#include "entry/override_calls.h"
#include "entry/table.h"
#include "flush/pass_through.h"
#include "pytorch/errors.h"
#include "pytorch/patches.h"

namespace gpuos::bridge {
namespace {

// For calls that are left to PyTorch, this file makes the tuple and the dict
// that PyTorch's functions expect.

PyObject* call_original(PyObject* function, PyObject* const* arguments,
                        Py_ssize_t count, PyObject* names) {
  if (!look_around()) return nullptr;
  PyObject* positional = PyTuple_New(count);
  PyObject* named = names == nullptr ? nullptr : PyDict_New();
  bool is_ready =
      positional != nullptr && (names == nullptr) == (named == nullptr);
  for (Py_ssize_t i = 0; is_ready && i < count; ++i)
    PyTuple_SET_ITEM(positional, i, Py_NewRef(arguments[i]));
  for (Py_ssize_t i = 0;
       is_ready && named != nullptr && i < PyTuple_GET_SIZE(names); ++i)
    is_ready = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i),
                              arguments[count + i]) == 0;
  std::optional<PassThrough> pass;
  if (take_rejection()) pass.emplace(names == nullptr && !pending.writes_old());
  PyObject* result = is_ready
                         ? PyCFunction_Type.tp_call(function, positional, named)
                         : nullptr;
  Py_XDECREF(positional);
  Py_XDECREF(named);
  return result;
}

/// Calls `take`, if the first argument is a tensor, or PyTorch.
template <typename Take>
PyObject* call(PyObject* function, PyObject* const* arguments,
               std::size_t flags, PyObject* names, const Take& take) {
  try {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (C10_LIKELY(count > 0 && is_ordinary(arguments[0]) && may_take())) {
      Tensor out = take(count);
      if (C10_LIKELY(out.defined())) return THPVariable_Wrap(std::move(out));
    }
    return call_original(function, arguments, count, names);
  } catch (...) {
    return raise_caught();
  }
}

template <Recipe kRecipe, Rule kRule>
PyObject* unary(PyObject* function, PyObject* const* arguments,
                std::size_t flags, PyObject* names) {
  return call(function, arguments, flags, names, [&](Py_ssize_t count) {
    if (count != 1 || names != nullptr) return Tensor();
    return take_unary({kRecipe, kRule}, arguments[0]);
  });
}

template <Recipe kRecipe, Rule kRule>
PyObject* binary(PyObject* function, PyObject* const* arguments,
                 std::size_t flags, PyObject* names) {
  return call(function, arguments, flags, names, [&](Py_ssize_t count) {
    if (count != 2 || names != nullptr) return Tensor();
    return take_binary({kRecipe, kRule}, arguments[0], arguments[1]);
  });
}

template <Recipe kRecipe>
PyObject* rows(PyObject* function, PyObject* const* arguments,
               std::size_t flags, PyObject* names) {
  return call(function, arguments, flags, names, [&](Py_ssize_t count) {
    return take_rows(kRecipe, arguments[0], arguments + 1, count - 1, names);
  });
}

template <auto kTake, Py_ssize_t kCount>
PyObject* of_all(PyObject* function, PyObject* const* arguments,
                 std::size_t flags, PyObject* names) {
  return call(function, arguments, flags, names, [&](Py_ssize_t count) {
    if (count != kCount || names != nullptr) return Tensor();
    if constexpr (kCount == 2)
      return kTake(arguments[0], arguments[1]);
    else
      return kTake(arguments[0], arguments[1], arguments[2]);
  });
}

struct Function {
  const char* name;
  vectorcallfunc ours;
  PyObject* object;  // while ours is in it
};

std::array functions = {
#define GPUOS_FUNCTION(name, line) \
  Function{#name, &unary<named(#line).recipe, named(#line).rule>, nullptr},
    GPUOS_UNARY_NAMES(GPUOS_FUNCTION)
#undef GPUOS_FUNCTION
#define GPUOS_FUNCTION(name, line) \
  Function{#name, &binary<named(#line).recipe, named(#line).rule>, nullptr},
        GPUOS_BINARY_NAMES(GPUOS_FUNCTION)
#undef GPUOS_FUNCTION
#define GPUOS_FUNCTION(name, line) \
  Function{#name, &rows<named_row(#line)>, nullptr},
            GPUOS_ROW_NAMES(GPUOS_FUNCTION)
#undef GPUOS_FUNCTION
                Function{"pow", &of_all<take_power, 2>, nullptr},
    Function{"clamp", &of_all<take_clamp, 3>, nullptr},
    Function{"where", &of_all<take_where, 3>, nullptr},
};

}  // namespace

void install_functions() {
  PyObject* module = PyImport_ImportModule("torch");
  if (module == nullptr) throw python_error();
  for (Function& function : functions) {
    PyObject* object = PyObject_GetAttrString(module, function.name);
    if (object == nullptr) {
      PyErr_Clear();  // another version may not have it
      continue;
    }
    // Other code may have replaced the function.
    vectorcallfunc* entry = quick_entry_of(object);
    if (entry != nullptr && *entry == nullptr) {
      function.object = object;
      *entry = function.ours;
    } else {
      Py_DECREF(object);
    }
  }
  Py_DECREF(module);
}

void remove_functions() {
  for (Function& function : functions) {
    if (function.object == nullptr) continue;
    *quick_entry_of(function.object) = nullptr;
    Py_CLEAR(function.object);
  }
}

}  // namespace gpuos::bridge
