#pragma once

#include "module/pybind_objects.h"

namespace gpuos::python {

/// Returns the result of `import name`. Throws: the errors of the import.
inline pybind11::object python_module(const char* name) {
  PyObject* const module = PyImport_ImportModule(name);
  if (module == nullptr) throw pybind11::error_already_set();
  return pybind11::reinterpret_steal<pybind11::object>(module);
}

/// Returns the result of `make`. The first call makes it, and it is kept until
/// the process ends.
///
/// This does not use a function's static initialisation, which C++ guards with
/// a lock. `make` may let another thread run. That thread would wait for the
/// guard and hold the GIL, or its replacement, that the first thread needs.
template <typename Make>
const auto& made_once(Make make) {
  using Made = decltype(make());
  static const Made* kept = nullptr;
  if (kept == nullptr) [[unlikely]] {
    const Made* made = new Made(make());
    if (kept == nullptr) kept = made;  // another thread may have been quicker
  }
  return *kept;
}

}  // namespace gpuos::python
