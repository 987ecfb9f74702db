#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gpuos/scalar.h"
#include "operator_object.h"

namespace gpuos::python {

/// A Python number. Throws: TypeError.
Scalar scalar_of(PyObject* number);

/// The keyword arguments of submit() and submit_many(). Borrows them.
class Keywords {
 public:
  /// `values` are the values of `names`, a tuple or null.
  /// Throws: InvalidArgument for a parameter that is unknown or missing.
  Keywords(const OperatorObject& op, PyObject* const* values, PyObject* names,
           bool is_many);

  PyObject* out = nullptr;
  PyObject* stream = Py_None;
  PyObject* sizes = nullptr;  // submit_many() only
  PyObject* dtype = nullptr;  // submit_many() only

  std::span<const Scalar> params() const noexcept {
    return {reinterpret_cast<const Scalar*>(storage_.data()), count_};
  }

 private:
  bool take_own(PyObject* name, PyObject* value, bool is_many) noexcept;
  std::size_t index_of_param(const OperatorObject& op, PyObject* name) const;

  // What no operator has more of: OperatorObject sees to it.
  static constexpr std::size_t kMost = kMaxArguments;

  std::size_t count_ = 0;
  alignas(Scalar) std::array<std::byte, kMost * sizeof(Scalar)> storage_;
};

}  // namespace gpuos::python
