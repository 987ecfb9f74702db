#include "entry/setup.h"

#include <Python.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <array>
#include <cstddef>
#include <utility>

#include "flush/pending.h"
#include "pytorch/keys.h"
#include "pytorch/patches.h"
#include "pytorch/python.h"

namespace gpuos::bridge {
namespace {

enum class Asks : bool { Nothing, Type };

/// The type of torch.FloatTensor and the like.
constexpr const char* kTypes = "tensortype";

struct Guarded {
  const char* owner;  // in torch._C or kTypes; null: torch._C itself
  const char* name;
  Asks asks = Asks::Nothing;
};
constexpr std::array kGuarded = {
    Guarded{"TensorBase", "set_"},
    Guarded{"TensorBase", "resize_"},
    Guarded{"TensorBase", "resize_as_"},
    Guarded{"StorageBase", "resize_"},
    Guarded{"StorageBase", "_share_fd_cpu_"},
    Guarded{"StorageBase", "_share_filename_cpu_"},
    Guarded{nullptr, "_swap_tensor_impl"},
    // These make a type of a tensor's keys, and know no bits of others.
    Guarded{"TensorBase", "new", Asks::Type},
    Guarded{"TensorBase", "new_tensor", Asks::Type},
    Guarded{kTypes, "__instancecheck__", Asks::Type},
};

/// The original functions of the doors.
std::array<PyCFunction, kGuarded.size()> guarded_originals{};
setter set_data = nullptr;

/// False: a Python error.
bool run_if(bool is_wanted) {
  try {
    if (is_wanted) pending.flush("other memory for a tensor");
    return true;
  } catch (...) {
    raise_caught();
    return false;
  }
}

bool is_marked_object(PyObject* object) {
  return THPVariable_Check(object) && is_marked(THPVariable_Unpack(object));
}

/// False: a Python error.
template <std::size_t kDoor>
bool open(PyObject* self, PyObject* arguments) {
  constexpr bool kAsksType = kGuarded[kDoor].asks == Asks::Type;
  // isinstance() is asked of anything, often.
  if (kAsksType && !is_marked_object(self) && !is_marked_object(arguments))
    return true;
  if (!run_if(!pending.is_empty())) return false;
  if (kAsksType)
    for (PyObject* object : {self, arguments})
      if (is_marked_object(object))
        unmark(THPVariable_Unpack(object).unsafeGetTensorImpl());
  return true;
}

template <std::size_t kDoor>
PyObject* pass(PyObject* self, PyObject* arguments) {
  if (!open<kDoor>(self, arguments)) return nullptr;
  return guarded_originals[kDoor](self, arguments);
}

template <std::size_t kDoor>
PyObject* pass_named(PyObject* self, PyObject* arguments, PyObject* names) {
  if (!open<kDoor>(self, arguments)) return nullptr;
  return function_cast<PyCFunctionWithKeywords>(guarded_originals[kDoor])(
      self, arguments, names);
}

// A tensor that is held by its memory may stay pending, because programs assign
// often.
int pass_data(PyObject* self, PyObject* value, void* context) {
  return run_if(pending.holds_objects()) ? set_data(self, value, context) : -1;
}

/// Borrowed. Null: this PyTorch has none.
PyObject* find(PyObject* module, const Guarded& entry) {
  if (entry.owner == nullptr)
    return PyDict_GetItemString(PyModule_GetDict(module), entry.name);
  PyObject* owner = nullptr;
  if (entry.owner != kTypes) {
    owner = PyDict_GetItemString(PyModule_GetDict(module), entry.owner);
  } else if (PyObject* torch = PyImport_AddModule("torch"); torch != nullptr) {
    PyObject* one =
        PyDict_GetItemString(PyModule_GetDict(torch), "FloatTensor");
    if (one != nullptr) owner = reinterpret_cast<PyObject*>(Py_TYPE(one));
  }
  if (owner == nullptr || !PyType_Check(owner)) return nullptr;
  return PyDict_GetItemString(reinterpret_cast<PyTypeObject*>(owner)->tp_dict,
                              entry.name);
}

template <std::size_t kDoor>
void guard(PyObject* module) {
  PyMethodDef* definition = definition_of(find(module, kGuarded[kDoor]));
  if (definition == nullptr || (definition->ml_flags & METH_FASTCALL) != 0)
    return;
  const bool has_names = (definition->ml_flags & METH_KEYWORDS) != 0;
  guarded_originals[kDoor] = replace_method(
      *definition, has_names ? function_cast<PyCFunction>(&pass_named<kDoor>)
                             : &pass<kDoor>);
}

}  // namespace

void guard_storage_setters() {
  if (set_data != nullptr) return;  // the module is set up a second time
  PyObject* module = PyImport_ImportModule("torch._C");
  if (module == nullptr) throw python_error();
  [&]<std::size_t... kDoor>(std::index_sequence<kDoor...>) {
    (guard<kDoor>(module), ...);
  }(std::make_index_sequence<kGuarded.size()>());
  set_data = replace_setter(find(module, {"TensorBase", "data"}), &pass_data);
  Py_DECREF(module);
}

}  // namespace gpuos::bridge
