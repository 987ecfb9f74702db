#pragma once

#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns the C++ object inside an instance of a class bound here, without a
/// cast table. The caller has checked the type. Returns null if __init__ never
/// ran.
template <typename T>
T* native(PyObject* object) noexcept {
  auto* instance = reinterpret_cast<pybind11::detail::instance*>(object);
  void* value = instance->simple_layout
                    ? instance->simple_value_holder[0]
                    : instance->nonsimple.values_and_holders[0];
  return static_cast<T*>(value);
}

}  // namespace gpuos::python
