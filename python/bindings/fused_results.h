#pragma once

#include <array>
#include <span>
#include <utility>

#include "fused_object.h"
#include "pybind_objects.h"

namespace gpuos::python {

/// Holds the arrays that one call of a fused function writes.
class FusedResults {
 public:
  FusedResults(const char* name, Traced& traced, RuntimeObject& runtime)
      : name_(name), traced_(traced), runtime_(runtime) {}

  /// Takes arrays of the caller: one, or a tuple or list with all of them.
  /// Throws: InvalidArgument.
  void take(PyObject* out, Arguments& arguments);
  /// Makes new arrays of the shapes that follow from these inputs.
  void make(std::span<const TensorView> inputs);

  std::span<const TensorView> views() const noexcept { return views_.view(); }
  /// Returns the arrays in the form of the Python function's result.
  pybind11::object as_returned();

 private:
  template <typename MakeView>
  void add(MakeView make_view, pybind11::object array) {
    views_.add(make_view);
    arrays_[count_++] = std::move(array);
  }

  const char* name_;
  Traced& traced_;
  RuntimeObject& runtime_;
  InlineVector<TensorView, kMaxFusedResults> views_;
  std::size_t count_ = 0;
  std::array<pybind11::object, kMaxFusedResults> arrays_;
};

}  // namespace gpuos::python
