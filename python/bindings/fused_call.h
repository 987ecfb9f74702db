#pragma once

#include <pybind11/pybind11.h>

#include <array>
#include <cstddef>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "arguments.h"
#include "fused_key.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

namespace gpuos::python {

/// Room for at most N objects of a plain type, made only as they are needed.
template <typename T, std::size_t N>
class Few {
 public:
  // Takes what makes the item, so that it is made where it stays.
  template <typename Make>
  const T& add(Make make) {
    void* place = storage_.data() + sizeof(T) * count_++;
    return *::new (place) T(make());
  }
  std::span<const T> view() const noexcept {
    return {reinterpret_cast<const T*>(storage_.data()), count_};
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);

  std::size_t count_ = 0;
  alignas(T) std::array<std::byte, N * sizeof(T)> storage_;
};

/// The arguments of one call of a fused function, sorted into what is known
/// when it is traced and what is not. Borrows the objects.
class FusedCall {
 public:
  /// `count` positional arguments, then those that `names`, a tuple or null,
  /// names.
  FusedCall(const char* name, PyObject* const* args, std::size_t count,
            PyObject* names);

  /// Whether a gpuos.Value is among the arguments: the call is part of another
  /// fused function that is being traced.
  bool is_traced() const noexcept;
  /// The runtime of the first gpuos.Array, or null.
  std::shared_ptr<RuntimeObject> find_runtime() const;
  /// Takes the views of the arrays and the values of the numbers.
  /// Throws: InvalidArgument, TypeError.
  void read(Arguments& arguments);

  const CallKey& key() const noexcept { return key_; }
  std::span<const TensorView> inputs() const noexcept { return inputs_.view(); }
  std::span<const Scalar> scalars() const noexcept { return scalars_.view(); }

  PyObject* out = nullptr;
  PyObject* stream = Py_None;

  /// The function's own arguments: its `positional` first ones have no name.
  struct Item {
    PyObject* name;  // null: positional
    PyObject* value;
  };
  std::span<const Item> items() const noexcept {
    return {items_.data(), item_count_};
  }

 private:
  static constexpr std::size_t kMaxItems = kMaxFusedArguments / 2;

  void add_item(PyObject* name, PyObject* value);
  void read_item(PyObject* object, Arguments& arguments, int number);

  const char* name_;
  CallKey key_;
  std::size_t item_count_ = 0;
  std::array<Item, kMaxItems> items_;
  Few<TensorView, kMaxItems> inputs_;
  Few<Scalar, kMaxItems> scalars_;
};

}  // namespace gpuos::python
