#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/fused.h"
#include "gpuos/lazy.h"
#include "gpuos/program.h"
#include "gpuos/program_functions.h"
#include "gpuos/program_ops.h"
#include "gpuos/program_reductions.h"
#include "gpuos/runtime.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

class Array;
struct ArrayData;  // private to cpp/arrays
class ArrayOperand;
class Arrays;

/// A function of arrays and numbers that is one program for arguments of equal
/// dtypes and ranks. If it asks for ProgramBuilder::shape_of(), the program is
/// for equal shapes. Copies are the same function.
class GPUOS_API FusedFunction {
 public:
  /// Returns the result of the values that stand for the arguments.
  using Function = std::function<Value(std::span<const Value> arguments)>;

  explicit FusedFunction(Function function);

  /// Returns the future result. An argument is an Array or a number.
  /// Throws: InvalidArgument if no argument is an Array, if there are more than
  /// kMaxFusedArguments, if dtypes or shapes do not fit, and as Function.
  template <typename... Arguments>
  Array operator()(const Arguments&... arguments) const;
  Array call(std::span<const ArrayOperand> arguments) const;

 private:
  std::shared_ptr<const Function> function_;
  std::uint64_t id_;
};

/// Makes arrays in memory of a runtime, and submits the operations on them:
/// when the program reads one, and when many wait. Operations that depend on
/// each other become one program.
///
/// Threads: one at a time. Lifetime: longer than its arrays, and not longer
/// than the runtime's.
class GPUOS_API Arrays {
 public:
  explicit Arrays(Runtime& runtime) : lazy_(runtime) {}

  /// Returns an array with `values` in C order.
  /// Throws: InvalidArgument if their number is not that of `shape`; as
  /// Runtime::allocate().
  template <typename T>
  Array from(std::span<const T> values, const Shape& shape);
  template <typename T>
  Array from(std::initializer_list<T> values, const Shape& shape);

  /// Submits all operations that wait. Call it before you submit other tasks
  /// that write the memory of arrays.
  void run();
  Runtime& runtime() const noexcept { return lazy_.runtime(); }

 private:
  friend class Array;
  friend class FusedFunction;
  friend Array elementwise(Op op, std::initializer_list<ArrayOperand> operands);

  class GPUOS_PRIVATE Tracer;
  // Functions that a program makes again and again must not fill the memory.
  static constexpr std::size_t kMostFunctions = 4096;

  Array copy_of(const void* values, std::size_t bytes, const Shape& shape,
                DType dtype);
  static void submit(const Program& program,
                     std::span<const ArrayOperand> arguments, ArrayData& data,
                     std::span<const Scalar> scalars);
  /// Returns the result of a function. `id` names it.
  static Array apply(std::uint64_t id, const FusedFunction::Function& function,
                     std::span<const ArrayOperand> arguments);

  LazyOperations lazy_;
  TraceCache functions_{"array", kMostFunctions};
};

/// Memory of a runtime with a shape and a dtype, or the pending result of an
/// operation. Copies are the same array.
class GPUOS_API Array {
 public:
  Shape shape() const;
  DType dtype() const noexcept;
  /// Returns the elements in C order, after the operations that compute them.
  /// Throws: InvalidArgument if T is not of dtype(); the reason why it could
  /// not be computed; as Runtime::copy_to_host().
  template <typename T>
  std::vector<T> read() const {
    std::vector<T> values(size_as(sizeof(T), dtype_for<T>()));
    copy_to(values.data());
    return values;
  }
  /// Returns the only element. Throws: as read().
  template <typename T>
  T item() const {
    T value{};
    if (size_as(sizeof(T), dtype_for<T>()) != 1) refuse_item();
    copy_to(&value);
    return value;
  }
  /// Returns the view for a submission. Its memory is computed by the tasks
  /// that were submitted before this returns, and stays with the array.
  /// Throws: as read().
  TensorView view() const;

  Array sum(const Axes& axes = {}, bool keepdims = false) const;
  Array prod(const Axes& axes = {}, bool keepdims = false) const;
  Array mean(const Axes& axes = {}, bool keepdims = false) const;
  Array max(const Axes& axes = {}, bool keepdims = false) const;
  Array min(const Axes& axes = {}, bool keepdims = false) const;
  Array any(const Axes& axes = {}, bool keepdims = false) const;
  Array all(const Axes& axes = {}, bool keepdims = false) const;

 private:
  friend class Arrays;
  friend class FusedFunction;
  friend Array elementwise(Op op, std::initializer_list<ArrayOperand> operands);
  using Data = ArrayData;
  class GPUOS_PRIVATE Operation;

  explicit Array(std::shared_ptr<Data> data) : data_(std::move(data)) {}
  template <typename T>
  static DType dtype_for();
  std::size_t size_as(std::size_t itemsize, DType dtype) const;
  [[noreturn]] void refuse_item() const;
  void copy_to(void* values) const;
  enum class Reduction : std::uint8_t { Sum, Prod, Mean, Max, Min, Any, All };
  Array reduced(Reduction which, const Axes& axes, bool keepdims) const;

  std::shared_ptr<Data> data_;
};

template <typename T>
DType Array::dtype_for() {
  using enum DType;
  if constexpr (std::same_as<T, bool>) {
    return Bool;
  } else if constexpr (std::integral<T>) {
    constexpr DType kSigned[] = {Int8, Int16, Int32, Int64};
    constexpr DType kUnsigned[] = {UInt8, UInt16, UInt32, UInt64};
    constexpr int kPlace = std::countr_zero(sizeof(T));
    return std::signed_integral<T> ? kSigned[kPlace] : kUnsigned[kPlace];
  } else if constexpr (std::floating_point<T>) {
    static_assert(sizeof(T) <= 8);
    return sizeof(T) == 4 ? Float32 : Float64;
  } else {
    return sizeof(T) == 8 ? Complex64 : Complex128;
  }
}

/// An argument of a function of arrays: an array, or a number. A number takes
/// the dtype of the others, like a Python number.
class ArrayOperand {
 public:
  ArrayOperand(const Array& array)  // NOLINT(google-explicit-constructor)
      : array_(&array) {}
  template <typename T>
    requires std::constructible_from<Scalar, T>
  ArrayOperand(T number)  // NOLINT(google-explicit-constructor)
      : number_(number), is_bool_(std::same_as<T, bool>) {}

  /// Returns null for a number.
  const Array* array() const noexcept { return array_; }
  const Scalar& number() const noexcept { return number_; }
  bool is_bool() const noexcept { return is_bool_; }

 private:
  const Array* array_ = nullptr;
  Scalar number_ = 0;
  bool is_bool_ = false;
};

template <typename... Arguments>
Array FusedFunction::operator()(const Arguments&... arguments) const {
  const ArrayOperand all[] = {ArrayOperand(arguments)...};
  return call(all);
}

template <typename T>
Array Arrays::from(std::span<const T> values, const Shape& shape) {
  return copy_of(values.data(), values.size_bytes(), shape,
                 Array::dtype_for<T>());
}
template <typename T>
Array Arrays::from(std::initializer_list<T> values, const Shape& shape) {
  return from(std::span<const T>(values.begin(), values.size()), shape);
}

/// Returns the future result of one operation, as elementwise() of Values.
/// Throws: InvalidArgument.
GPUOS_API Array elementwise(Op op,
                            std::initializer_list<ArrayOperand> operands);

// The vocabulary's functions, by NumPy's names.
#define GPUOS_OF_ONE(name, function, numpy, ...) \
  inline Array numpy(const Array& x) { return elementwise(Op::name, {x}); }
GPUOS_UNARY_FUNCTIONS(GPUOS_OF_ONE)
GPUOS_TESTS(GPUOS_OF_ONE)
#undef GPUOS_OF_ONE

// One of the operands is an array. The other may be a number.
#define GPUOS_OF_TWO(name, function, numpy, ...)              \
  inline Array numpy(const Array& x, const ArrayOperand& y) { \
    return elementwise(Op::name, {x, y});                     \
  }                                                           \
  template <typename T>                                       \
    requires std::constructible_from<Scalar, T>               \
  Array numpy(T x, const Array& y) {                          \
    return elementwise(Op::name, {x, y});                     \
  }
GPUOS_BINARY_FUNCTIONS(GPUOS_OF_TWO)
GPUOS_COMPARISONS(GPUOS_OF_TWO)
#undef GPUOS_OF_TWO

#define GPUOS_OPERATOR(symbol, function)                                \
  inline Array operator symbol(const Array& x, const ArrayOperand& y) { \
    return elementwise(Op::function, {x, y});                           \
  }                                                                     \
  template <typename T>                                                 \
    requires std::constructible_from<Scalar, T>                         \
  Array operator symbol(T x, const Array& y) {                          \
    return elementwise(Op::function, {x, y});                           \
  }
GPUOS_OPERATOR(+, Add)
GPUOS_OPERATOR(-, Subtract)
GPUOS_OPERATOR(*, Multiply)
GPUOS_OPERATOR(/, Divide)
GPUOS_OPERATOR(%, Remainder)
#undef GPUOS_OPERATOR
inline Array operator-(const Array& x) { return negative(x); }

}  // namespace gpuos
