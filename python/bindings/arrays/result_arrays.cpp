#include "arrays/result_arrays.h"

#include "arrays/array.h"
#include "convert/native.h"

namespace gpuos::python {

#if !defined(Py_GIL_DISABLED)
namespace {

destructor destroy = nullptr;

// Works as the free lists of CPython. An object without references is not
// destroyed. It refers to its type, and through that to nothing else.
void drop(PyObject* object) {
  const auto* instance = reinterpret_cast<pybind11::detail::instance*>(object);
  auto* array = native<Array>(object);
  const bool is_bare = instance->weakrefs == nullptr && !instance->has_patients;
  if (array != nullptr && is_bare && array->keep_for_results(object)) return;
  destroy(object);
}

}  // namespace

void keep_dropped_results(PyTypeObject* type) noexcept {
  destroy = type->tp_dealloc;
  type->tp_dealloc = &drop;
}
#else
// An object without references may live again only if no other thread can look
// at it meanwhile.
void keep_dropped_results(PyTypeObject* /*type*/) noexcept {}
#endif

ResultArrays::~ResultArrays() {
  for (Turns& turns : turns_) {
    while (PyObject* array = turns.pop_newest()) {
      _Py_NewReference(array);
      Py_DECREF(array);  // it has no runtime that would keep it again
    }
  }
}

}  // namespace gpuos::python
