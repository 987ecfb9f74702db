#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/program.h"
#include "gpuos/program_ops.h"
#include "gpuos/scalar.h"
#include "program/graph/input_source.h"

namespace gpuos::program {

struct Node {
  Op op{};
  DType dtype{};
  bool is_weak = false;
  bool keepdims = false;      // of a reduction
  bool may_be_empty = false;  // a maximum: of nothing it is the lowest value
  std::uint8_t rank = 0;
  std::uint8_t axes = 0;                    // reduction, Extent: bit d
  std::array<std::uint32_t, 3> operands{};  // earlier nodes
  std::uint32_t index = 0;                  // Input, Scalar, Join: which
  DimMap dims{};                            // View

  bool reduces(std::size_t dim) const noexcept {
    return (axes >> dim & 1) != 0;
  }

  friend auto operator<=>(const Node&, const Node&) = default;
};

inline bool is_reduction(const Node& node) {
  return info_of(node.op).rule == OpRule::Reduction;
}
inline std::size_t operand_count(const Node& node) {
  return node.op == Op::Extent ? 0 : info_of(node.op).operands;
}

/// Where the value of a scalar comes from.
struct ScalarSource {
  enum class Kind : std::uint8_t { Argument, Literal };
  Kind kind = Kind::Argument;
  std::uint32_t argument = 0;  // Argument: number among the call's scalars
  std::optional<gpuos::Scalar> literal{};
};

/// Concatenated values. Their node itself is not computed, only its parts are.
struct Join {
  std::uint32_t input = 0;  // as long as all parts
  std::uint32_t axis = 0;
  std::vector<std::uint32_t> parts;
};

class Dimensions;

/// The shapes of the inputs of one call.
struct CallShapes {
  std::vector<Shape> inputs;
  bool is_strict = false;
};

/// The facts of one call that were asked for. The graph may be wrong for other
/// calls.
struct Asked {
  bool shapes = false;
  std::vector<std::uint32_t> scalars;  // in order
};

/// Nodes in an order in which operands come first. An equal node is not added
/// again.
struct Graph : std::enable_shared_from_this<Graph> {
  std::vector<Node> nodes;
  std::vector<ProgramArgument> inputs;
  std::vector<InputSource> sources;  // of the inputs
  std::uint32_t arguments = 0;
  /// For each input, the first one with its shape, which may be itself.
  std::vector<std::uint32_t> alike;
  /// For each dimension of an input, the first one with its size.
  std::vector<DimSet> dims;
  std::vector<ScalarSource> scalars;
  std::uint32_t scalar_arguments = 0;
  std::vector<std::uint32_t> outputs;
  std::vector<Join> joins;  // a node's index is one of them
  std::vector<ResultPiece>
      pieces;  // of the results the outputs, if there are joins
  /// The dimensions of the nodes, as far as they were asked for.
  std::shared_ptr<Dimensions> dimensions;
  std::optional<CallShapes> call;
  Asked asked;

  bool has_alike_inputs() const noexcept;
  std::uint32_t add(const Node& node);
  /// The next input. `dims` are the dimensions whose sizes it has.
  std::uint32_t add_input(const ProgramArgument& input, InputSource source,
                          DimSet dims);
  Value value(std::uint32_t id);

 private:
  std::map<Node, std::uint32_t> known_;
};

/// Returns whether `a + b` and `b + a` are the same.
bool is_commutative(Op op) noexcept;

/// The dtype that a number of Python has alone.
DType weak_dtype(const gpuos::Scalar& number) noexcept;

/// A weak number that is the same in every call. Equal numbers are one value.
std::uint32_t add_literal(Graph& graph, const gpuos::Scalar& number);

/// Converts `value` to `dtype`: it is itself, a scalar of that dtype, or a
/// cast.
std::uint32_t convert(Graph& graph, std::uint32_t value, DType dtype);

}  // namespace gpuos::program
