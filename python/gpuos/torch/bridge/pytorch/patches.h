// All writes of the bridge into objects of PyTorch's Python module.
//
// The objects themselves stay the same, because programs have imported them,
// and compilers, overrides and autograd compare them. Only the function that
// they call is replaced. Both are public structures of Python, and each object
// is checked before it is written.
//
// - Methods that give a tensor other memory (storage_setters.cpp) are replaced
// for correctness, not for speed: requests hold tensors instead of their
// memory.
// - Methods and functions such as torch.Tensor.add and torch.relu
// (overrides.cpp) are replaced for speed.
// Otherwise such a call goes through PyTorch's parser and dispatcher, and saves
// 300 ns on a processor instead of 900 (kCpuPrices of costs.h).
#pragma once

#include <Python.h>

#include <utility>

namespace gpuos::bridge {

/// Returns the definition of a method or a built-in function. Null: `found` is
/// neither, or null.
inline PyMethodDef* definition_of(PyObject* found) {
  if (found == nullptr) return nullptr;
  if (Py_TYPE(found) == &PyMethodDescr_Type)
    return reinterpret_cast<PyMethodDescrObject*>(found)->d_method;
  if (PyCFunction_CheckExact(found))
    return reinterpret_cast<PyCFunctionObject*>(found)->m_ml;
  return nullptr;
}
/// Replaces the function of a method and returns the old one.
inline PyCFunction replace_method(PyMethodDef& definition, PyCFunction ours) {
  return std::exchange(definition.ml_meth, ours);
}
/// Replaces the setter of an attribute. Returns null if `found` is no
/// attribute, or null.
inline setter replace_setter(PyObject* found, setter ours) {
  if (found == nullptr || Py_TYPE(found) != &PyGetSetDescr_Type) return nullptr;
  PyGetSetDef* definition =
      reinterpret_cast<PyGetSetDescrObject*>(found)->d_getset;
  return std::exchange(definition->set, ours);
}

/// Returns where Python's call of `found` goes: a method or built-in function
/// that takes a tuple and a dict, as PyTorch's do, or a function of Python. A
/// built-in function has an empty entry. Null: `found` is none of these.
inline vectorcallfunc* entry_of(PyObject* found) {
  constexpr int kBoth = METH_VARARGS | METH_KEYWORDS;
  if (PyFunction_Check(found))
    return &reinterpret_cast<PyFunctionObject*>(found)->vectorcall;
  const PyMethodDef* definition = definition_of(found);
  if (definition == nullptr || (definition->ml_flags & kBoth) != kBoth)
    return nullptr;
  return PyCFunction_CheckExact(found)
             ? &reinterpret_cast<PyCFunctionObject*>(found)->vectorcall
             : &reinterpret_cast<PyMethodDescrObject*>(found)->vectorcall;
}

}  // namespace gpuos::bridge
