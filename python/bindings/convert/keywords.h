#pragma once

#include <Python.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpuos/scalar.h"
#include "runtime/operator_object.h"

namespace gpuos::python {

/// Returns a Python number as a scalar. Throws: TypeError.
Scalar scalar_of(PyObject* number);

/// Holds interned names of arguments. The names of most callers are these
/// objects.
struct CallNames {
  PyObject* out = PyUnicode_InternFromString("out");
  PyObject* stream = PyUnicode_InternFromString("stream");
  PyObject* sizes = PyUnicode_InternFromString("sizes");
  PyObject* dtype = PyUnicode_InternFromString("dtype");
};
const CallNames& call_names();

inline bool is_name(PyObject* a, PyObject* b) noexcept {
  return a == b || PyUnicode_Compare(a, b) == 0;
}

/// Holds the keyword arguments of submit() and submit_many(). Borrows them.
class Keywords {
 public:
  /// Reads `values`, the values of `names`, which is a tuple or null.
  /// `positional` is the number of inputs without a name.
  /// Throws: InvalidArgument for a parameter or an input that is unknown or
  /// missing.
  Keywords(const OperatorObject& op, PyObject* const* values, PyObject* names,
           std::size_t positional, bool is_many);

  PyObject* out = nullptr;
  PyObject* stream = Py_None;
  PyObject* sizes = nullptr;  // submit_many() only
  PyObject* dtype = nullptr;  // submit_many() only

  /// Returns the inputs that came by name, in order.
  std::span<PyObject* const> inputs() const noexcept {
    return {inputs_.data(), named_};
  }
  std::span<const Scalar> params() const noexcept {
    return {reinterpret_cast<const Scalar*>(storage_.data()), count_};
  }
  /// Returns the operator to submit to. If default values were filled in, it is
  /// the version that has them, which may be superseded.
  const Operator& target() const noexcept { return *target_; }

 private:
  using InputNames = std::vector<std::string>;

  bool take_own(PyObject* name, PyObject* value, bool is_many) noexcept;
  bool take_param(const OperatorObject& op, PyObject* name, PyObject* value);
  bool take_input(const OperatorObject& op, const InputNames& names,
                  PyObject* name, PyObject* value, std::size_t positional);
  void set_param(const OperatorObject& op, std::size_t index, PyObject* name,
                 PyObject* value);
  [[gnu::cold]] void add_defaults(const OperatorObject& op,
                                  PyObject* const* values, PyObject* names,
                                  bool is_many);
  void check_inputs(const OperatorObject& op, const InputNames& names,
                    std::size_t positional);

  // This is the most arguments of an operator. OperatorObject checks it.
  static constexpr std::size_t kMost = kMaxArguments;

  const Operator* target_;
  Operator pinned_;
  std::uint64_t given_ = 0;         // a bit for each parameter
  std::uint64_t given_inputs_ = 0;  // the same for `inputs_`
  std::size_t count_ = 0;
  std::size_t named_ = 0;
  std::array<PyObject*, kMost> inputs_;
  alignas(Scalar) std::array<std::byte, kMost * sizeof(Scalar)> storage_;
};

}  // namespace gpuos::python
