#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/program_ops.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

namespace program {
struct Graph;  // private to cpp/program
struct Plan;
}  // namespace program

/// A value of a program that is being built: an array of some dtype and rank
/// whose shape is known only when the program is called.
///
/// A weak value is a plain number: it takes the dtype of the other operand,
/// like a Python number.
class Value {
 public:
  Value() = default;

  GPUOS_API DType dtype() const;
  GPUOS_API int rank() const;
  GPUOS_API bool is_weak() const;

  const std::shared_ptr<program::Graph>& graph() const { return graph_; }
  std::uint32_t id() const noexcept { return id_; }

 private:
  friend class ProgramBuilder;
  friend struct program::Graph;
  Value(std::shared_ptr<program::Graph> graph, std::uint32_t id)
      : graph_(std::move(graph)), id_(id) {}

  std::shared_ptr<program::Graph> graph_;
  std::uint32_t id_ = 0;
};

/// The dtype and rank of an input or an output.
struct ProgramArgument {
  DType dtype = DType::Float32;
  int rank = 0;

  friend bool operator==(const ProgramArgument&,
                         const ProgramArgument&) = default;
};

using Shape = std::vector<std::int64_t>;

/// Indexes one axis, as in Python. It keeps the whole axis, a slice, or one
/// element, which removes the axis.
struct AxisIndex {
  enum class Kind : std::uint8_t {
    All,
    Slice,
    Place,    // `start`
    Only,     // the only place of an axis that must have one
    Section,  // number `start` of `stop` parts of the same size
    Turned,   // what comes first, or with `stop` last, if all move by `start`
    Part      // used by concatenate() only
  };
  /// A bound that is left out: `start` or `stop` of a step below 0 and above.
  static constexpr std::int64_t kFirst = INT64_MIN;
  static constexpr std::int64_t kLast = INT64_MAX;

  Kind kind = Kind::All;
  std::int64_t start = 0;
  std::int64_t stop = kLast;
  std::int64_t step = 1;

  bool keeps_axis() const noexcept {
    return kind != Kind::Place && kind != Kind::Only;
  }

  friend auto operator<=>(const AxisIndex&, const AxisIndex&) = default;
};

/// Elementwise operations and reductions that run as one submission. A plain
/// value: copies are the same program.
///
/// Only the structure decides what is compiled. Shapes, strides, scalars and
/// literals are not part of it.
class GPUOS_API Program {
 public:
  Program() = default;

  const std::vector<ProgramArgument>& inputs() const;
  const std::vector<ProgramArgument>& outputs() const;
  /// Returns the number of scalars that a call passes. Numbers of the
  /// expression do not count.
  std::size_t scalars() const;
  /// Returns the number of operations without unused and duplicate ones.
  std::size_t operations() const;
  /// Returns a number that is equal for programs of one structure, in every
  /// process.
  std::uint64_t hash() const;

  /// Returns the shapes of the outputs for inputs of these shapes.
  /// Throws: InvalidArgument for another number or rank of inputs, and for
  /// shapes that do not broadcast.
  std::vector<Shape> output_shapes(std::span<const Shape> inputs) const;

  bool is_empty() const noexcept { return plan_ == nullptr; }
  const std::shared_ptr<const program::Plan>& plan() const { return plan_; }

 private:
  friend class ProgramBuilder;
  explicit Program(std::shared_ptr<const program::Plan> plan)
      : plan_(std::move(plan)) {}

  std::shared_ptr<const program::Plan> plan_;
};

/// Builds a program node by node. All functions of Values that are declared
/// below go through apply() and reduce().
///
/// Threads: one at a time.
class GPUOS_API ProgramBuilder {
 public:
  ProgramBuilder();

  /// Adds an input. Throws: InvalidArgument for a rank outside 0 to kMaxDims.
  Value input(DType dtype, int rank);
  /// Adds an input with the shape that the input `other` has in each call. One
  /// pass then computes values of both.
  /// Throws: InvalidArgument if `other` is not an input of this builder.
  Value input_like(const Value& other, DType dtype);
  /// Adds a scalar of this dtype to the arguments of a call.
  Value scalar(DType dtype);
  /// Adds a weak scalar to the arguments of a call. It is an integer, a real or
  /// a complex number, like `like`.
  Value number(const Scalar& like);
  /// Adds a weak number that is the same in every call.
  Value literal(const Scalar& value);

  /// Adds an elementwise operation. Operands are promoted as in NumPy and
  /// broadcast against each other.
  /// Throws: InvalidArgument for dtypes that `op` does not support.
  static Value apply(Op op, std::span<const Value> operands);
  static Value apply(Op op, std::initializer_list<Value> operands) {
    return apply(op, std::span(operands.begin(), operands.size()));
  }
  /// Adds a reduction over `axes`. Negative axes count from the end, and no
  /// axes mean all. Throws: InvalidArgument for an axis that does not exist or
  /// comes twice, and for several axes of an argmax or argmin. A maximum that
  /// `may_be_empty` is then the lowest value of its dtype. Others need elements
  /// in each call.
  static Value reduce(Op op, const Value& value,
                      std::optional<std::vector<int>> axes = {},
                      bool keepdims = false, bool may_be_empty = false);
  static Value cast(const Value& value, DType dtype);
  /// Reorders dimensions. Dimension d of the result is dimension `dims[d]` of
  /// the operand, or a new one of size 1 for -1. Every dimension of the operand
  /// is named once. Throws: InvalidArgument.
  static Value view(const Value& value, std::span<const int> dims);
  /// Broadcasts `value` to the shape of `like`, whose elements are not read.
  static Value broadcast_to(const Value& value, const Value& like);

  // Views of computed values are computed from views of the inputs, so they are
  // not first written to memory. A call throws InvalidArgument if the shapes of
  // its arrays do not allow this.

  /// Indexes `value` by `axes`, one for each dimension.
  /// Throws: InvalidArgument.
  static Value index(const Value& value, std::span<const AxisIndex> axes);
  /// Gives the elements, in C order, another shape. One extent may be -1. A
  /// call needs arrays for which that is a view.
  /// Throws: InvalidArgument, also for values that are computed from
  /// reductions.
  static Value reshape(const Value& value, std::span<const std::int64_t> shape);
  /// Concatenates the values along `axis`, in the dtype that holds all of them.
  /// Each value is computed separately. This is one task if the program shows
  /// that all lengths are equal, as for halves of split(), and several
  /// otherwise.
  /// Throws: InvalidArgument, also for a value that is reduced along that axis,
  /// indexed there or reshaped later.
  static Value concatenate(std::span<const Value> values, int axis = 0);
  /// Broadcasts `value` to this shape. Throws: InvalidArgument.
  static Value broadcast_to(const Value& value,
                            std::span<const std::int64_t> shape);
  /// Returns the number of elements of `value` along `axes`, as a scalar
  /// float64.
  static Value extent(const Value& value,
                      std::optional<std::vector<int>> axes = {});

  /// Computes `made`, a value of another builder, from `inputs` in place of
  /// that builder's inputs. Its scalars become the next ones of this builder.
  /// Throws: InvalidArgument for another number, dtype or rank of inputs, and
  /// if the other builder has made slices or other views of its inputs.
  Value insert(const Value& made, std::span<const Value> inputs);

  /// Sets the shapes of one call for shape_of(). Strict: operations that do not
  /// fit these shapes are refused when they are built, not only by the call.
  void set_shapes(std::vector<Shape> inputs, bool is_strict = false);
  /// Returns the shape of `value` for the shapes that were set. Code that uses
  /// it may be wrong for other shapes.
  /// Throws: InvalidArgument, also if none were set.
  static Shape shape_of(const Value& value);
  /// Returns whether shape_of() was asked for a value of this builder.
  bool has_told_shapes() const;
  /// Notes that the program depends on the value of `value` in one call, and
  /// may be wrong for others. Returns false if it is not computed from scalars
  /// of a call only.
  static bool ask_scalars(const Value& value);
  /// Returns the numbers of the scalars that were asked for.
  std::vector<std::uint32_t> asked_scalars() const;
  /// Returns whether `value` is one of this builder.
  bool makes(const Value& value) const noexcept {
    return value.graph() == graph_;
  }

  /// Adds an output.
  void output(const Value& value);

  /// Throws: InvalidArgument if there is no output, or a task cannot carry the
  /// arguments.
  Program build() const;

 private:
  std::shared_ptr<program::Graph> graph_;
};

}  // namespace gpuos
