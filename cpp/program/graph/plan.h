#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpuos/program.h"
#include "program/graph/dimensions.h"
#include "program/graph/graph.h"

namespace gpuos::program {

/// Memory that a pass reads or writes.
struct Buffer {
  enum class Kind : std::uint8_t { Input, Output, Temporary };
  Kind kind{};
  std::uint32_t index = 0;

  friend auto operator<=>(const Buffer&, const Buffer&) = default;
};

/// The most arguments of a pass. A task has an address or a value for each, and
/// for some layouts the address of a table.
inline constexpr std::size_t kMaxPassArguments = 25;

/// The most constants and scalars of a pass. An instruction names them in a
/// byte.
inline constexpr std::size_t kMaxConstants = 255;

/// Inputs and different views of them. A call has a pointer for each on its
/// stack.
inline constexpr std::size_t kMaxInputs = 256;

inline constexpr std::int8_t kNoDim = -1;
inline constexpr std::size_t kMaxAxes = 2 * kMaxDims;

/// For each axis of a pass, or each dimension of a value, one of the other.
using AxisMap = std::array<std::int8_t, kMaxAxes>;

/// A buffer, and which of its dimensions each axis of the pass walks along.
struct BufferAccess {
  Buffer buffer;
  DType dtype{};
  bool writes = false;
  AxisMap dims{};

  friend auto operator<=>(const BufferAccess&, const BufferAccess&) = default;
};

/// One operation of a pass.
struct Step {
  enum class Kind : std::uint8_t { Load, Store, Scalar, Compute, Reduce };
  Kind kind{};
  Op op{};                                  // Compute, Reduce; Cast too
  bool may_be_empty = false;                // Reduce: as of its node
  DType dtype{};                            // of the result
  DType from{};                             // of the operands but a condition
  std::uint32_t index = 0;                  // access, or scalar or constant
  std::array<std::uint32_t, 3> operands{};  // earlier steps

  friend auto operator<=>(const Step&, const Step&) = default;
};

/// A scalar as a task carries it. A complex128 has two parts, one after the
/// other.
struct ScalarWord {
  DType dtype{};
  bool is_imaginary = false;  // of complex128
  bool is_extent = false;
  std::uint32_t source = 0;     // in Plan::scalars
  std::vector<SetId> extent{};  // is_extent: the product of their sizes

  friend auto operator<=>(const ScalarWord&, const ScalarWord&) = default;
};

/// One loop nest. For each element of the outer axes its parts alternate: part
/// 0 once, part 1 for each element of the inner axes, part 2 once, and so on.
/// The result of a reduction in a loop is ready in the next part.
struct Pass {
  std::vector<SetId> outer;
  std::vector<SetId> inner;
  /// Pairs that must have the same size for a fused pass to be right.
  std::vector<std::array<SetId, 2>> equal;
  std::vector<BufferAccess> accesses;
  std::vector<ScalarWord> scalars;
  /// Numbers of the program that do not fit in a task, so they are in the pass'
  /// text and code. They are the bits of scalars, numbered after the task's
  /// scalars.
  std::vector<std::uint64_t> constants;
  std::vector<Step> steps;
  /// The steps of each part. A step of a loop may be in several loops.
  std::vector<std::vector<std::uint32_t>> parts;

  std::size_t loops() const noexcept { return parts.size() / 2; }
  bool has_reduction = false;
  std::uint64_t operations = 0;  // steps that compute something
  /// The interpreter runs this.
  std::vector<std::uint64_t> text;
  /// Passes with an equal structure can share their code.
  std::string structure;
};

/// A buffer between two passes, in C order.
struct Temporary {
  DType dtype{};
  std::vector<SetId> dims;
};

/// Passes that follow each other.
struct Schedule {
  std::vector<Pass> passes;
  std::vector<Temporary> temporaries;
};

/// A program, ready for every runtime.
struct Plan {
  std::vector<ProgramArgument> inputs;
  /// The inputs that a call gives: all, if there are no sources.
  std::vector<ProgramArgument> arguments;
  /// The source of each input, if one is a view.
  std::vector<InputSource> sources;
  /// For each input, the first one with its shape.
  std::vector<std::uint32_t> alike;
  std::vector<ProgramArgument> outputs;
  std::vector<std::vector<SetId>> output_dims;
  /// The outputs that a call gives. They are pieces of outputs if values were
  /// joined.
  std::vector<ProgramArgument> results;
  std::vector<std::vector<SetId>> result_dims;
  std::vector<ResultPiece> pieces;
  std::vector<ScalarSource> scalars;
  std::uint32_t scalar_arguments = 0;
  std::vector<DimSet> sets;
  std::size_t operations = 0;
  std::uint64_t hash = 0;
  /// `fused` puts reductions over short rows into one pass with the steps
  /// around them. `split` puts each reduction into a separate pass, without its
  /// operand if that needs much memory. The two are equal if there is nothing
  /// to fuse.
  Schedule fused;
  Schedule split;
};

/// Adds the arguments of a call. Throws: InvalidArgument if there are too many.
void add_arguments(Plan& plan, const Graph& graph);

std::shared_ptr<const Plan> make_plan(Graph& graph);

}  // namespace gpuos::program
