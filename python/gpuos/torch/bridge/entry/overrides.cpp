#include "entry/setup.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <array>
#include <optional>
#include <utility>

#include "entry/override_calls.h"
#include "entry/table.h"
#include "flush/pass_through.h"
#include "pytorch/keys.h"
#include "pytorch/patches.h"
#include "pytorch/python.h"

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
// Functions of the module torch follow.
#define GPUOS_NAME_FUNCTION(name, line) f_##name,
  GPUOS_UNARY_NAMES(GPUOS_NAME_FUNCTION) GPUOS_BINARY_NAMES(GPUOS_NAME_FUNCTION)
      GPUOS_ROW_NAMES(GPUOS_NAME_FUNCTION)
#undef GPUOS_NAME_FUNCTION
          kPowerFunction,
  kClampFunction,
  kWhereFunction,
  kMethods
};
constexpr bool is_function(std::size_t method) { return method > kClamp; }

/// A method or function of PyTorch and its replacement. Unary methods take no
/// arguments, and Python calls the function in their definition. The others
/// have an entry, which is null for functions.
struct Replaced {
  PyObject* object = nullptr;  // while ours is called
  vectorcallfunc entry = nullptr;
  PyCFunction function = nullptr;
};
// The originals are kept for ever, because our functions may run while the
// overrides are removed.
std::array<Replaced, kMethods> replaced{};

/// tensor + alpha * other, of floating tensors. False: PyTorch must do it.
struct Scaled {
  TorchOperand operands[3];

  /// `arguments`: the tensor, which is one, the other and alpha.
  bool read(PyObject* const* arguments) {
    const Tensor& tensor = THPVariable_Unpack(arguments[0]);
    PyObject* other = arguments[1];
    PyObject* alpha = arguments[2];
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

constexpr bool has_alpha(Function function) {
  return function == Function::Add || function == Function::Subtract;
}
bool is_alpha_alone(PyObject* names) {
  return names != nullptr && PyTuple_GET_SIZE(names) == 1 &&
         PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0),
                                          "alpha") == 0;
}

bool take_scaled_into(Function function, PyObject* const* arguments) {
  const Tensor& tensor = THPVariable_Unpack(arguments[0]);
  Scaled call;
  if (!is_without_grad(tensor) || !is_writable(tensor) ||
      !call.read(arguments) ||
      !defer({with_factor(function), Rule::Arithmetic}, call.operands, tensor)
           .defined())
    return false;
  tensor.unsafeGetTensorImpl()->bump_version();
  return true;
}

bool take_into(const Elementwise& what, PyObject* self, PyObject* other) {
  const Tensor& tensor = THPVariable_Unpack(self);
  if (!is_without_grad(tensor) || !is_writable(tensor)) return false;
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

const char* name_of(Method method);

/// False: a Python error, and PyTorch is not called.
bool prepare_original(Method method, std::optional<PassThrough>& pass,
                      bool writes) {
  if (take_rejection())
    pass.emplace(name_of(method), !writes && !pending.writes_old());
  return look_around();
}

/// Calls a function of the module torch with the tuple and the dict that it
/// expects.
PyObject* call_with_tuple(PyObject* function, PyObject* const* arguments,
                          Py_ssize_t count, PyObject* names) {
  THPObjectPtr positional(PyTuple_New(count));
  THPObjectPtr named(names == nullptr ? nullptr : PyDict_New());
  if (!positional || (names != nullptr && !named)) return nullptr;
  for (Py_ssize_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(positional.get(), i, Py_NewRef(arguments[i]));
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
    if (PyDict_SetItem(named.get(), PyTuple_GET_ITEM(names, i),
                       arguments[count + i]) != 0)
      return nullptr;
  return PyCFunction_Type.tp_call(function, positional.get(), named.get());
}

PyObject* call_original(Method method, PyObject* object,
                        PyObject* const* arguments, std::size_t flags,
                        PyObject* names, bool writes = false) {
  std::optional<PassThrough> pass;
  if (!prepare_original(method, pass, writes || names != nullptr))
    return nullptr;
  const vectorcallfunc entry = replaced[method].entry;
  return entry != nullptr ? entry(object, arguments, flags, names)
                          : call_with_tuple(object, arguments,
                                            PyVectorcall_NARGS(flags), names);
}

/// Calls `take` or PyTorch. `take` gets the number of further arguments. It is
/// only called if the first argument is a tensor.
template <typename Take>
PyObject* call(Method method, PyObject* object, PyObject* const* arguments,
               std::size_t flags, PyObject* names, const Take& take) {
  try {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (C10_LIKELY(count > 0 && is_ordinary(arguments[0]) && may_take())) {
      Tensor out = take(count - 1);
      if (C10_LIKELY(out.defined())) return THPVariable_Wrap(std::move(out));
    }
    return call_original(method, object, arguments, flags, names);
  } catch (...) {
    return raise_caught();
  }
}

template <Method kMethod, Function kFunction, Rule kRule,
          bool kReversed = false>
PyObject* binary(PyObject* object, PyObject* const* arguments,
                 std::size_t flags, PyObject* names) {
  try {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (C10_LIKELY(count == 2 && names == nullptr &&
                   is_ordinary(arguments[0]) && may_take())) {
      Tensor out = take_binary({kFunction, kRule}, arguments[0], arguments[1],
                               kReversed);
      if (C10_LIKELY(out.defined())) return THPVariable_Wrap(std::move(out));
    }
    if constexpr (has_alpha(kFunction) && !kReversed) {
      if (count == 2 && is_alpha_alone(names) && is_ordinary(arguments[0]) &&
          may_take()) {
        Scaled call;
        Tensor out;
        if (call.read(arguments))
          out = defer({with_factor(kFunction), kRule}, call.operands);
        if (out.defined()) return THPVariable_Wrap(std::move(out));
      }
    }
    return call_original(kMethod, object, arguments, flags, names);
  } catch (...) {
    return raise_caught();
  }
}

template <Method kMethod, Function kFunction, Rule kRule>
PyObject* in_place(PyObject* object, PyObject* const* arguments,
                   std::size_t flags, PyObject* names) {
  try {
    const Py_ssize_t count = PyVectorcall_NARGS(flags);
    if (C10_LIKELY(count == 2 && names == nullptr &&
                   is_ordinary(arguments[0]) && may_take() &&
                   take_into({kFunction, kRule}, arguments[0], arguments[1])))
      return Py_NewRef(arguments[0]);
    if constexpr (has_alpha(kFunction)) {
      if (count == 2 && is_alpha_alone(names) && is_ordinary(arguments[0]) &&
          may_take() && take_scaled_into(kFunction, arguments))
        return Py_NewRef(arguments[0]);
    }
    return call_original(kMethod, object, arguments, flags, names,
                         /*writes=*/true);
  } catch (...) {
    return raise_caught();
  }
}

template <Method kMethod, Function kFunction, Rule kRule>
PyObject* unary(PyObject* self, PyObject* nothing) {
  try {
    if (C10_LIKELY(is_ordinary(self) && may_take())) {
      Tensor out = take_unary({kFunction, kRule}, self);
      if (C10_LIKELY(out.defined())) return THPVariable_Wrap(std::move(out));
    }
    std::optional<PassThrough> pass;
    if (!prepare_original(kMethod, pass, /*writes=*/false)) return nullptr;
    return replaced[kMethod].function(self, nothing);
  } catch (...) {
    return raise_caught();
  }
}

template <Method kMethod, Function kFunction>
PyObject* rows(PyObject* object, PyObject* const* arguments, std::size_t flags,
               PyObject* names) {
  return call(kMethod, object, arguments, flags, names, [&](Py_ssize_t count) {
    return take_rows(kFunction, arguments[0], arguments + 1, count, names);
  });
}

template <Method kMethod, Function kFunction, Rule kRule>
PyObject* unary_function(PyObject* object, PyObject* const* arguments,
                         std::size_t flags, PyObject* names) {
  return call(kMethod, object, arguments, flags, names, [&](Py_ssize_t count) {
    if (count != 0 || names != nullptr) return Tensor();
    return take_unary({kFunction, kRule}, arguments[0]);
  });
}

/// `kTake` takes the tensor and `kCount` further arguments.
template <Method kMethod, auto kTake, Py_ssize_t kCount>
PyObject* of_all(PyObject* object, PyObject* const* arguments,
                 std::size_t flags, PyObject* names) {
  return call(kMethod, object, arguments, flags, names, [&](Py_ssize_t count) {
    if (count != kCount || names != nullptr) return Tensor();
    if constexpr (kCount == 1)
      return kTake(arguments[0], arguments[1]);
    else
      return kTake(arguments[0], arguments[1], arguments[2]);
  });
}

/// One of the two, as Replaced has them.
struct Ours {
  const char* name;
  vectorcallfunc entry = nullptr;
  PyCFunction function = nullptr;
};

constexpr std::array<Ours, kMethods> kOurs = {{
#define GPUOS_BINARY(name, line) \
  {#name, &binary<k_##name, named(#line).function, named(#line).rule>},
    GPUOS_BINARY_METHODS(GPUOS_BINARY)
#undef GPUOS_BINARY
#define GPUOS_REVERSED(name, line) \
  {#name, &binary<k_##name, named(#line).function, named(#line).rule, true>},
        GPUOS_REVERSED_METHODS(GPUOS_REVERSED)
#undef GPUOS_REVERSED
#define GPUOS_IN_PLACE(name, line) \
  {#name, &in_place<k_##name, named(#line).function, named(#line).rule>},
            GPUOS_IN_PLACE_METHODS(GPUOS_IN_PLACE)
#undef GPUOS_IN_PLACE
#define GPUOS_UNARY(name, line) \
  {#name, nullptr, &unary<k_##name, named(#line).function, named(#line).rule>},
                GPUOS_UNARY_METHODS(GPUOS_UNARY)
#undef GPUOS_UNARY
#define GPUOS_ROWS(name, line) {#name, &rows<k_##name, named_row(#line)>},
                    GPUOS_ROW_NAMES(GPUOS_ROWS)
#undef GPUOS_ROWS
#define GPUOS_POWER(name) {#name, &of_all<k_##name, take_power, 1>},
                        GPUOS_POWER_METHODS(GPUOS_POWER)
#undef GPUOS_POWER
                            {"clamp", &of_all<kClamp, take_clamp, 2>},
#define GPUOS_UNARY(name, line) \
  {#name, &unary_function<f_##name, named(#line).function, named(#line).rule>},
    GPUOS_UNARY_NAMES(GPUOS_UNARY)
#undef GPUOS_UNARY
#define GPUOS_BINARY(name, line) \
  {#name, &binary<f_##name, named(#line).function, named(#line).rule>},
        GPUOS_BINARY_NAMES(GPUOS_BINARY)
#undef GPUOS_BINARY
#define GPUOS_ROWS(name, line) {#name, &rows<f_##name, named_row(#line)>},
            GPUOS_ROW_NAMES(GPUOS_ROWS)
#undef GPUOS_ROWS
                {"pow", &of_all<kPowerFunction, take_power, 1>},
    {"clamp", &of_all<kClampFunction, take_clamp, 2>},
    {"where", &of_all<kWhereFunction, take_where, 2>},
}};

const char* name_of(Method method) { return kOurs[method].name; }

bool is_installed = false;

/// Returns PyTorch's own method, borrowed. Null means that this version does
/// not have it, or that the program has replaced it.
PyObject* find_method(const char* name, PyObject* globals) {
  // `object` has none of them, and from Python 3.12 on no dict to look into.
  auto* type = reinterpret_cast<PyTypeObject*>(THPVariableClass);
  for (; type != &PyBaseObject_Type; type = type->tp_base) {
    PyObject* found = PyDict_GetItemString(type->tp_dict, name);
    if (found == nullptr) continue;
    const bool is_own = PyFunction_Check(found)
                            ? PyFunction_GET_GLOBALS(found) == globals
                            : Py_TYPE(found) == &PyMethodDescr_Type;
    if (is_own) return found;
  }
  return nullptr;
}

void replace(Replaced& method, const Ours& with, PyObject* found) {
  vectorcallfunc* entry = entry_of(found);
  PyMethodDef* definition = definition_of(found);
  if (with.entry != nullptr && entry != nullptr) {
    if (*entry == with.entry) return;
    method.entry = std::exchange(*entry, with.entry);
  } else if (with.function != nullptr && definition != nullptr &&
             definition->ml_flags == METH_NOARGS) {
    method.function = replace_method(*definition, with.function);
  } else {
    return;
  }
  method.object = Py_NewRef(found);
}

void put_back(Replaced& method, const Ours& with) {
  if (method.object == nullptr) return;
  // Other code may have replaced it.
  if (with.entry != nullptr) {
    vectorcallfunc* entry = entry_of(method.object);
    if (*entry == with.entry) *entry = method.entry;
  } else {
    PyMethodDef& definition = *definition_of(method.object);
    if (definition.ml_meth == with.function)
      replace_method(definition, method.function);
  }
  Py_CLEAR(method.object);
}

}  // namespace

void install_overrides(PyObject* parameter) {
  if (is_installed) return;
  parameter_type = reinterpret_cast<PyTypeObject*>(parameter);
  THPObjectPtr module(PyImport_ImportModule("torch._tensor"));
  THPObjectPtr package(PyImport_ImportModule("torch"));
  if (!module || !package) throw python_error();
  PyObject* functions = PyModule_GetDict(package.get());
  PyObject* globals = PyModule_GetDict(module.get());
  for (std::size_t i = 0; i < kMethods; ++i) {
    const char* name = kOurs[i].name;
    PyObject* found = is_function(i) ? PyDict_GetItemString(functions, name)
                                     : find_method(name, globals);
    if (found != nullptr) replace(replaced[i], kOurs[i], found);
  }
  is_installed = true;
}

void remove_overrides() {
  if (!is_installed) return;
  // Names of one method, as neg and __neg__ are: the last one came last.
  for (std::size_t i = kMethods; i-- > 0;) put_back(replaced[i], kOurs[i]);
  is_installed = false;
}

}  // namespace gpuos::bridge
