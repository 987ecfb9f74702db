#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

#include "arrays/array.h"
#include "convert/array_view.h"
#include "convert/native.h"
#include "gpuos/bridge.h"
#include "module/pybind_objects.h"
#include "module/without_gil.h"

namespace gpuos::python {

/// Observes foreign arrays. It is usually null. Access needs the GIL.
inline const ArrayWatch* array_watch = nullptr;

/// Holds the arrays of one call: their views, and the objects that must stay
/// alive.
///
/// Threads: the GIL is held when it is made, filled and destroyed.
class Arguments {
 public:
  explicit Arguments(RuntimeObject& runtime) : runtime_(runtime) {}
  ~Arguments() {
    for (std::size_t i = 0; i < few_; ++i) borrow_at(i).~Borrow();
    if (is_told_) array_watch->after(&runtime_.core());
  }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  /// Returns the view of an input. Throws: InvalidArgument if `object` is no
  /// array in the runtime's memory.
  TensorView view(PyObject* object, Role role) {
    if (Py_TYPE(object) == array_type) {
      Array& array = *native<Array>(object);
      if (&array.runtime() == &runtime_) return borrow(array).view();
    }
    return view_other(object, role);
  }
  /// Returns the view of an output. Throws: the errors of view(), also for a
  /// single element.
  TensorView out_view(PyObject* object, Role role) {
    if (Py_TYPE(object) == array_type && native<Array>(object)->is_element())
      refuse_element(role.text());
    return view(object, role);
  }

  /// Keeps `object` until the task is done.
  void keep(pybind11::object object) {
    if (few_kept_ < kFewKept) {
      kept_few_[few_kept_++] = std::move(object);
    } else {
      kept_.push_back(std::move(object));
    }
  }
  bool has_foreign() const noexcept { return few_kept_ > 0; }
  /// Keeps the holder of the arrays for as long as they are borrowed.
  void hold(pybind11::object holder) { holder_ = std::move(holder); }

  /// Passes the objects that must outlive the call to the runtime.
  void keep_until(const Ticket& ticket);

 private:
  static constexpr std::size_t kFew = 16;
  static constexpr std::size_t kFewKept = 4;

  const Borrow& borrow(Array& array) {
    if (few_ == kFew) return many_.emplace_back(array);
    Borrow& made = *::new (&borrow_at(few_)) Borrow(array);
    ++few_;
    return made;
  }
  Borrow& borrow_at(std::size_t i) noexcept {
    return reinterpret_cast<Borrow*>(few_borrows_.data())[i];
  }
  TensorView view_other(PyObject* object, Role role);
  void tell(PyObject* object);

  RuntimeObject& runtime_;
  bool is_told_ = false;  // the watch is told of a foreign array
  pybind11::object holder_;
  std::size_t few_ = 0;
  // submit() takes this path and allocates nothing.
  alignas(Borrow) std::array<std::byte, kFew * sizeof(Borrow)> few_borrows_;
  std::vector<Borrow> many_;
  std::size_t few_kept_ = 0;
  std::array<pybind11::object, kFewKept> kept_few_;
  std::vector<pybind11::object> kept_;
};

/// Returns the runtime. Throws: TypeError if __init__ never ran.
RuntimeObject& runtime_of(PyObject* self);

}  // namespace gpuos::python
