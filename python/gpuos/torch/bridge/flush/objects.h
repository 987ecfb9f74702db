// References to Python's objects, which take no atomic.
#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace gpuos::bridge {

/// Without a GIL to count a reference is an atomic too.
#ifdef Py_GIL_DISABLED
inline constexpr bool kHoldsObjects = false;
#else
inline constexpr bool kHoldsObjects = true;
#endif

/// Returns whether this thread holds the GIL.
bool has_gil() noexcept;

/// Objects of tensors that must live until requests are done. A tensor keeps
/// its memory until other code replaces it, see setup.h.
class HeldObjects {
 public:
  /// The objects of one request: two operands and a result.
  static constexpr std::size_t kEach = 3;
  using Objects = std::array<PyObject*, kEach>;

  /// Holds the objects. The caller has the GIL.
  void hold(std::span<PyObject* const, kEach> objects) {
    Objects& held = objects_.emplace_back();
    for (std::size_t i = 0; i < kEach; ++i) held[i] = Py_NewRef(objects[i]);
  }
  /// Releases them. Without the GIL, it hands them to the next thread that has
  /// it. No lock may be held, because any code may run when an object is
  /// destroyed.
  void give_back() noexcept;

 private:
  std::vector<Objects> objects_;
};

/// Releases the objects that were put aside. The caller has the GIL.
void give_back_what_was_put_aside() noexcept;

}  // namespace gpuos::bridge
