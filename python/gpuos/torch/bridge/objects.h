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

/// Whether this thread holds the GIL.
bool has_gil() noexcept;

/// Tensors' objects that are to live until requests are done. A tensor keeps
/// its memory as long as nobody gives it another, see doors.h.
class HeldObjects {
 public:
  /// The objects of one request: two operands and a result.
  static constexpr std::size_t kEach = 3;
  using Objects = std::array<PyObject*, kEach>;

  /// Under the GIL.
  void hold(std::span<PyObject* const, kEach> objects) {
    Objects& held = objects_.emplace_back();
    for (std::size_t i = 0; i < kEach; ++i) held[i] = Py_NewRef(objects[i]);
  }
  /// Gives them back; without the GIL, puts them aside for whoever has it next.
  /// Under no lock: any code may run when an object goes.
  void give_back() noexcept;

 private:
  std::vector<Objects> objects_;
};

/// Gives back what was put aside. Under the GIL.
void give_back_what_was_put_aside() noexcept;

}  // namespace gpuos::bridge
