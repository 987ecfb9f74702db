#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "convert/arguments.h"
#include "fused/foreign_objects.h"
#include "gpuos/fused.h"
#include "gpuos/inline_vector.h"
#include "gpuos/tensor_view.h"
#include "module/pybind_objects.h"

namespace gpuos::python {

/// Holds the arguments of one call of a fused function. They are sorted by what
/// is known when the function is traced. Borrows the objects.
class FusedCall : public CallArguments {
 public:
  /// Takes `count` positional arguments, then the named ones. `names` is a
  /// tuple or null.
  FusedCall(const char* name, PyObject* const* args, std::size_t count,
            PyObject* names);

  /// Returns whether a gpuos.Value is among the arguments. The call is then
  /// part of another fused function that is being traced.
  bool is_traced() const noexcept;
  /// Returns whether a list or a dict, or a tuple with arrays, is among the
  /// arguments.
  bool has_container() const;
  /// Returns whether other code has the address of an array and may write
  /// there.
  bool has_exported() const noexcept;
  /// Returns the runtime of the first gpuos.Array, or null.
  std::shared_ptr<RuntimeObject> find_runtime() const;
  /// Takes the views of the arrays and the values of the numbers.
  /// Throws: InvalidArgument, TypeError.
  void read(Arguments& arguments);

  /// Reads the arguments without addresses. Returns false unless all are
  /// numbers, and arrays with elements in memory of `runtime` that nothing else
  /// may write. Returns false for other calls too.
  bool read_forms(const RuntimeObject& runtime);
  /// Returns the arrays of the inputs, after read_forms().
  std::span<PyObject* const> arrays() const noexcept { return arrays_.view(); }

  PyObject* out = nullptr;
  PyObject* stream = Py_None;

  /// Holds one of the function's own arguments. The first `positional` ones
  /// have no name.
  struct Item {
    PyObject* name;  // null: positional
    PyObject* value;
  };
  std::span<const Item> items() const noexcept {
    return {items_.data(), item_count_};
  }

 private:
  void add_item(PyObject* name, PyObject* value);
  bool read_number(PyObject* object);
  bool read_scalar(PyObject* object);
  void read_item(PyObject* object, Arguments& arguments, int number);

  const char* name_;
  std::size_t item_count_ = 0;
  bool may_have_container_ = false;
  std::array<Item, kMaxFusedArguments> items_;
  InlineVector<PyObject*, kMaxFusedArguments> arrays_;
};

}  // namespace gpuos::python
