#include "front.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <array>
#include <optional>

#include "casts.h"
#include "errors.h"
#include "front_calls.h"
#include "front_functions.h"
#include "keys.h"
#include "leaving.h"
#include "table.h"

namespace gpuos::bridge {
namespace {

enum Method : std::size_t {
#define GPUOS_NAME_METHOD(name, line) k_##name,
  GPUOS_BINARY_METHODS(GPUOS_NAME_METHOD) GPUOS_REVERSED_METHODS(
      GPUOS_NAME_METHOD) GPUOS_IN_PLACE_METHODS(GPUOS_NAME_METHOD)
      GPUOS_UNARY_METHODS(GPUOS_NAME_METHOD) GPUOS_ROW_NAMES(GPUOS_NAME_METHOD)
#undef GPUOS_NAME_METHOD
#define GPUOS_NAME_METHOD(name) k_##name,
          GPUOS_POWER_METHODS(GPUOS_NAME_METHOD)
#undef GPUOS_NAME_METHOD
              kClamp,
  kMethods
};

/// What PyTorch had, and whether torch.Tensor had it itself.
std::array<PyObject*, kMethods> originals{};
std::array<bool, kMethods> were_own{};

/// tensor + alpha * other, of floating tensors. False: PyTorch must do it.
struct Scaled {
  Operand operands[3];

  bool read(PyObject* self, PyObject* other, PyObject* alpha) {
    const Tensor& tensor = THPVariable_Unpack(self);
    double factor = 0;
    if (!is_ordinary(other) || !read_number(alpha, factor) ||
        !at::isFloatingType(tensor.scalar_type()) || !is_without_grad(tensor) ||
        !is_without_grad(THPVariable_Unpack(other)))
      return false;
    operands[0].tensor = &tensor;
    operands[1].tensor = &THPVariable_Unpack(other);
    operands[2].number = factor;
    return true;
  }
};

constexpr bool has_alpha(Recipe recipe) {
  return recipe == Recipe::Add || recipe == Recipe::Subtract;
}
bool is_alpha_alone(PyObject* names) {
  return names != nullptr && PyTuple_GET_SIZE(names) == 1 &&
         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0),
                                          "alpha") == 0;
}

bool take_scaled_into(Recipe recipe, PyObject* self, PyObject* const* both) {
  const Tensor& tensor = THPVariable_Unpack(self);
  Scaled call;
  if (!is_written_without_grad(tensor) || tensor.is_inference() ||
      !call.read(self, both[0], both[1]) ||
      !defer({with_factor(recipe), Rule::Arithmetic}, call.operands, tensor)
           .defined())
    return false;
  tensor.unsafeGetTensorImpl()->bump_version();
  return true;
}

bool take_into(const Elementwise& what, PyObject* self, PyObject* other) {
  const Tensor& tensor = THPVariable_Unpack(self);
  if (!is_written_without_grad(tensor) || tensor.is_inference()) return false;
  double number = 0;
  bool is_taken = false;
  if (is_ordinary(other)) {
    const Tensor& second = THPVariable_Unpack(other);
    is_taken = is_without_grad(second) && defer_into(what, tensor, second);
  } else if (at::isFloatingType(tensor.scalar_type()) &&
             read_number(other, number)) {
    is_taken = defer_into(what, tensor, number);
  }
  if (is_taken) tensor.unsafeGetTensorImpl()->bump_version();
  return is_taken;
}

PyObject* call_original(Method method, PyObject* self,
                        PyObject* const* arguments, Py_ssize_t count,
                        PyObject* names, bool writes = false) {
  constexpr Py_ssize_t kMost = 8;
  const Py_ssize_t all =
      count + (names == nullptr ? 0 : PyTuple_GET_SIZE(names));
  if (all > kMost) {
    PyErr_Format(PyExc_TypeError, "expected at most %zd arguments, got %zd",
                 kMost, all);
    return nullptr;
  }
  PyObject* together[kMost + 1] = {self};
  for (Py_ssize_t i = 0; i < all; ++i) together[i + 1] = arguments[i];
  PyObject* original = Py_NewRef(originals[method]);
  PyObject* result = nullptr;
  std::optional<Leaving> leaving;
  if (take_refusal()) leaving.emplace(writes || names != nullptr);
  if (retire_if_unused())
    result = PyObject_Vectorcall(original, together,
                                 static_cast<std::size_t>(count + 1), names);
  Py_DECREF(original);
  return result;
}

/// What `take` makes of the arguments, or what PyTorch does.
template <typename Take>
PyObject* call(Method method, PyObject* self, PyObject* const* arguments,
               Py_ssize_t count, PyObject* names, const Take& take) {
  try {
    if (C10_LIKELY(is_ordinary(self) && may_take())) {
      Tensor out = take();
      if (C10_LIKELY(out.defined())) return THPVariable_Wrap(std::move(out));
    }
    return call_original(method, self, arguments, count, names);
  } catch (...) {
    return raise_caught();
  }
}

template <Method kMethod, Recipe kRecipe, Rule kRule, bool kReversed = false>
PyObject* binary(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                 PyObject* names) {
  try {
    if (C10_LIKELY(count == 1 && names == nullptr && is_ordinary(self) &&
                   may_take())) {
      Tensor out = take_binary({kRecipe, kRule}, self, arguments[0], kReversed);
      if (C10_LIKELY(out.defined())) return THPVariable_Wrap(std::move(out));
    }
    if constexpr (has_alpha(kRecipe) && !kReversed) {
      if (count == 1 && is_alpha_alone(names) && is_ordinary(self) &&
          may_take()) {
        Scaled call;
        Tensor out;
        if (call.read(self, arguments[0], arguments[1]))
          out = defer({with_factor(kRecipe), kRule}, call.operands);
        if (out.defined()) return THPVariable_Wrap(std::move(out));
      }
    }
    return call_original(kMethod, self, arguments, count, names);
  } catch (...) {
    return raise_caught();
  }
}

template <Method kMethod, Recipe kRecipe, Rule kRule>
PyObject* in_place(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                   PyObject* names) {
  try {
    if (C10_LIKELY(count == 1 && names == nullptr && is_ordinary(self) &&
                   may_take() &&
                   take_into({kRecipe, kRule}, self, arguments[0])))
      return Py_NewRef(self);
    if constexpr (has_alpha(kRecipe)) {
      if (count == 1 && is_alpha_alone(names) && is_ordinary(self) &&
          may_take() && take_scaled_into(kRecipe, self, arguments))
        return Py_NewRef(self);
    }
    return call_original(kMethod, self, arguments, count, names,
                         /*writes=*/true);
  } catch (...) {
    return raise_caught();
  }
}

template <Method kMethod, Recipe kRecipe, Rule kRule>
PyObject* unary(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                PyObject* names) {
  return call(kMethod, self, arguments, count, names, [&] {
    if (count != 0 || names != nullptr) return Tensor();
    return take_unary({kRecipe, kRule}, self);
  });
}

template <Method kMethod, Recipe kRecipe>
PyObject* rows(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
               PyObject* names) {
  return call(kMethod, self, arguments, count, names, [&] {
    return take_rows(kRecipe, self, arguments, count, names);
  });
}

template <Method kMethod>
PyObject* power(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                PyObject* names) {
  return call(kMethod, self, arguments, count, names, [&] {
    if (count != 1 || names != nullptr) return Tensor();
    return take_power(self, arguments[0]);
  });
}

PyObject* clamp(PyObject* self, PyObject* const* arguments, Py_ssize_t count,
                PyObject* names) {
  return call(kClamp, self, arguments, count, names, [&] {
    if (count != 2 || names != nullptr) return Tensor();
    return take_clamp(self, arguments[0], arguments[1]);
  });
}

PyCFunction as_function(PyObject* (*function)(PyObject*, PyObject* const*,
                                              Py_ssize_t, PyObject*)) {
  return function_cast<PyCFunction>(function);
}

constexpr int kFlags = METH_FASTCALL | METH_KEYWORDS;

std::array<PyMethodDef, kMethods> methods = {{
#define GPUOS_BINARY(name, line)                                           \
  {#name,                                                                  \
   as_function(&binary<k_##name, named(#line).recipe, named(#line).rule>), \
   kFlags, nullptr},
    GPUOS_BINARY_METHODS(GPUOS_BINARY)
#undef GPUOS_BINARY
#define GPUOS_REVERSED(name, line)                                       \
  {#name,                                                                \
   as_function(                                                          \
       &binary<k_##name, named(#line).recipe, named(#line).rule, true>), \
   kFlags, nullptr},
        GPUOS_REVERSED_METHODS(GPUOS_REVERSED)
#undef GPUOS_REVERSED
#define GPUOS_IN_PLACE(name, line)                                           \
  {#name,                                                                    \
   as_function(&in_place<k_##name, named(#line).recipe, named(#line).rule>), \
   kFlags, nullptr},
            GPUOS_IN_PLACE_METHODS(GPUOS_IN_PLACE)
#undef GPUOS_IN_PLACE
#define GPUOS_UNARY(name, line)                                           \
  {#name,                                                                 \
   as_function(&unary<k_##name, named(#line).recipe, named(#line).rule>), \
   kFlags, nullptr},
                GPUOS_UNARY_METHODS(GPUOS_UNARY)
#undef GPUOS_UNARY
#define GPUOS_ROWS(name, line) \
  {#name, as_function(&rows<k_##name, named_row(#line)>), kFlags, nullptr},
                    GPUOS_ROW_NAMES(GPUOS_ROWS)
#undef GPUOS_ROWS
#define GPUOS_POWER(name) \
  {#name, as_function(&power<k_##name>), kFlags, nullptr},
                        GPUOS_POWER_METHODS(GPUOS_POWER)
#undef GPUOS_POWER
                            {"clamp", as_function(&clamp), kFlags, nullptr},
}};

bool is_installed = false;

}  // namespace

void install_front(PyObject* parameter) {
  if (is_installed) return;
  parameter_type = reinterpret_cast<PyTypeObject*>(parameter);
  auto* type = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  for (std::size_t i = 0; i < kMethods; ++i) {
    const char* name = methods[i].ml_name;
    were_own[i] = PyDict_GetItemString(type->tp_dict, name) != nullptr;
    originals[i] = PyObject_GetAttrString(THPVariableClass, name);
    PyObject* descriptor = PyDescr_NewMethod(type, &methods[i]);
    if (originals[i] == nullptr || descriptor == nullptr ||
        PyObject_SetAttrString(THPVariableClass, name, descriptor) != 0)
      throw python_error();
    Py_DECREF(descriptor);
  }
  install_functions();
  is_installed = true;
}

void remove_front() {
  if (!is_installed) return;
  remove_functions();
  for (std::size_t i = 0; i < kMethods; ++i) {
    const char* name = methods[i].ml_name;
    // What was inherited is found again once ours is gone.
    const int result =
        were_own[i]
            ? PyObject_SetAttrString(THPVariableClass, name, originals[i])
            : PyObject_DelAttrString(THPVariableClass, name);
    if (result != 0) throw python_error();
    Py_CLEAR(originals[i]);
  }
  is_installed = false;
}

}  // namespace gpuos::bridge
