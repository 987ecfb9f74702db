// Moves indices of computed values to the inputs.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program/graph/call_shapes.h"
#include "program/graph/graph.h"
#include "program/graph/index_axis.h"
#include "program/graph/joins.h"
#include "program/graph/views.h"

namespace gpuos::program {
namespace {

/// The index of one dimension of a value.
struct DimIndex {
  AxisIndex axis;
  DimSet whole;  // whose size the value has there

  friend auto operator<=>(const DimIndex&, const DimIndex&) = default;
};
using DimIndices = std::vector<DimIndex>;

/// Returns the indices of the operand's dimensions, which are the last ones.
DimIndices last_of(const DimIndices& all, std::size_t rank) {
  return {all.end() - static_cast<std::ptrdiff_t>(rank), all.end()};
}

bool is_all(const DimIndex& index) {
  return index.axis.kind == AxisIndex::Kind::All;
}

std::uint8_t kept_of(const DimIndices& all) {
  return static_cast<std::uint8_t>(std::ranges::count_if(
      all, [](const DimIndex& index) { return index.axis.keeps_axis(); }));
}

/// Returns a dimension of an earlier input that always has this size, or `dim`
/// if there is none.
Dim dim_like(const Graph& graph, const Dim& from, const DimIndex& index,
             const Dim& dim) {
  if (is_all(index)) return from;
  if (index.axis.kind == AxisIndex::Kind::Part) {
    // Its size is that of the part or 1 (broadcast). The array decides.
    const InputSource& joined =
        graph.sources[static_cast<std::size_t>(index.axis.stop)];
    const std::size_t rank =
        joined.whole.size() / static_cast<std::size_t>(joined.shape[0]);
    const DimSet& length =
        joined.whole[static_cast<std::size_t>(index.axis.start) * rank +
                     joined.from];
    return length.size() == 1 ? length[0] : dim;
  }
  // Where something is broadcast, two slices may differ in size.
  if (index.whole != DimSet{from}) return dim;
  const AxisIndex size = same_size(index.axis);
  if (size.kind == AxisIndex::Kind::All) return from;
  for (std::uint32_t i = 0; i < graph.sources.size(); ++i) {
    const InputSource& source = graph.sources[i];
    if (source.kind != InputSource::Kind::Index) continue;
    std::uint32_t kept = 0;
    for (std::size_t d = 0; d < source.axes.size(); ++d) {
      if (!source.axes[d].keeps_axis()) continue;
      if (same_size(source.axes[d]) == size && source.whole[d] == index.whole)
        return graph.dims[i][kept];
      ++kept;
    }
  }
  return dim;
}

/// Indexes values of one graph.
class Indexing {
 public:
  explicit Indexing(Graph& graph) : graph_(graph) {}

  std::uint32_t of(std::uint32_t id, const DimIndices& indices) {
    if (std::ranges::all_of(indices, is_all)) return id;
    const std::pair key(id, indices);
    if (const auto at = known_.find(key); at != known_.end()) return at->second;
    const std::uint32_t made = make(id, indices);
    known_.emplace(key, made);
    return made;
  }

 private:
  std::uint32_t make(std::uint32_t id, const DimIndices& indices) {
    const Node node = graph_.nodes[id];
    if (node.op == Op::Input) return of_input(node, indices);
    if (node.op == Op::View) return of_view(node, indices);
    if (node.op == Op::Join) return of_join(node, indices);
    if (is_reduction(node)) return of_reduction(node, indices);
    return of_elementwise(node, indices);
  }

  std::uint32_t of_join(const Node& node, DimIndices indices) {
    const Join join = graph_.joins[node.index];
    const AxisIndex along = std::exchange(indices[join.axis].axis, {});
    const bool is_part = along.kind == AxisIndex::Kind::Part;
    if (is_part && is_cut_alike(join, along))
      return of(join.parts[static_cast<std::size_t>(along.start)], indices);
    const std::vector<std::uint8_t> places = places_of(indices);
    std::vector<std::uint32_t> parts;
    for (const std::uint32_t part : join.parts)
      parts.push_back(of(part, indices));
    const std::uint8_t dim = places[join.axis];
    make_alike(parts, dim);
    if (along.kind != AxisIndex::Kind::All && !graph_.call)
      throw InvalidArgument(
          "index: expected no index of an axis along which values are joined, "
          "and parts of the same lengths; index and join the parts instead");
    if (along.kind != AxisIndex::Kind::All)
      return index_parts(graph_, parts, dim, is_part ? range_of(along) : along);
    return add_join(graph_, std::move(parts), dim);
  }

  /// A part with one place in every call stays, as if it were broadcast. Where
  /// another part has no place left, it has none either.
  void make_alike(std::vector<std::uint32_t>& parts, std::size_t axis) const {
    std::vector<DimSet> known(graph_.nodes[parts[0]].rank);
    for (const std::uint32_t part : parts) {
      const std::vector<DimSet> dims = dims_of(graph_, part);
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (d != axis && known[d].empty()) known[d] = dims[d];
    }
    for (std::uint32_t& part : parts) {
      const std::vector<DimSet> dims = dims_of(graph_, part);
      Shape shape(dims.size(), 1);
      for (std::size_t d = 0; d < dims.size(); ++d)
        if (d != axis && dims[d].empty() && !known[d].empty()) shape[d] = -1;
      if (std::ranges::find(shape, -1) == shape.end()) continue;
      std::vector<DimSet> whole = known;
      for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] != -1) whole[d].clear();
      const std::uint32_t like = add_shape(graph_, shape, std::move(whole));
      part =
          ProgramBuilder::broadcast_to(graph_.value(part), graph_.value(like))
              .id();
    }
  }

  /// Returns whether its parts are as long as those, for a reason that is known
  /// here.
  bool is_cut_alike(const Join& join, const AxisIndex& part) const {
    const auto lengths = [&](std::size_t input) {
      const InputSource& source = graph_.sources[input];
      const std::size_t rank =
          source.whole.size() / static_cast<std::size_t>(source.shape[0]);
      std::vector<DimSet> all;
      for (std::size_t d = source.from; d < source.whole.size(); d += rank)
        all.push_back(source.whole[d]);
      return all;
    };
    const auto other = static_cast<std::size_t>(part.stop);
    return join.input == other || lengths(join.input) == lengths(other);
  }

  /// Returns the range of a part of another joined value in this call.
  AxisIndex range_of(const AxisIndex& part) {
    const auto joined = static_cast<std::uint32_t>(part.stop);
    const auto at = std::ranges::find(graph_.joins, joined, &Join::input);
    AxisIndex range{.kind = AxisIndex::Kind::Slice, .start = 0, .stop = 0};
    for (std::int64_t i = 0; i <= part.start; ++i) {
      const std::uint32_t one = at->parts[static_cast<std::size_t>(i)];
      range.start = range.stop;
      range.stop += told_shape(graph_, one)[at->axis];
    }
    return range;
  }

  std::uint32_t of_input(const Node& node, const DimIndices& indices) {
    InputSource source{.kind = InputSource::Kind::Index, .from = node.index};
    const auto number = static_cast<std::uint32_t>(graph_.inputs.size());
    DimSet dims;
    for (std::size_t d = 0; d < node.rank; ++d) {
      const DimIndex& index = indices[d];
      source.axes.push_back(index.axis);
      source.whole.push_back(is_all(index) ? DimSet{} : index.whole);
      if (!index.axis.keeps_axis()) continue;
      const Dim own{number, static_cast<std::uint32_t>(dims.size())};
      dims.push_back(dim_like(graph_, graph_.dims[node.index][d], index, own));
    }
    return find_or_add(graph_, {node.dtype, static_cast<int>(dims.size())},
                       source, dims);
  }

  std::uint32_t of_view(Node node, const DimIndices& indices) {
    const Node operand = graph_.nodes[node.operands[0]];
    DimIndices inside(operand.rank);
    for (std::size_t d = 0; d < node.rank; ++d)
      if (node.dims[d] != kNewDim) inside[node.dims[d]] = indices[d];
    node.operands[0] = of(node.operands[0], inside);
    const std::vector<std::uint8_t> places = places_of(inside);
    std::uint8_t rank = 0;
    for (std::size_t d = 0; d < node.rank; ++d) {
      if (!indices[d].axis.keeps_axis()) continue;
      const std::uint8_t dim = node.dims[d];
      node.dims[rank++] = dim == kNewDim ? kNewDim : places[dim];
    }
    std::fill(node.dims.begin() + rank, node.dims.end(), 0);
    node.rank = rank;
    return graph_.add(node);
  }

  std::uint32_t of_reduction(Node node, const DimIndices& indices) {
    if (node.keepdims) return of(without_kept(node), indices);
    const Node operand = graph_.nodes[node.operands[0]];
    DimIndices inside(operand.rank);
    std::size_t kept = 0;
    for (std::size_t d = 0; d < operand.rank; ++d)
      if (!node.reduces(d)) inside[d] = indices[kept++];
    node.operands[0] = of(node.operands[0], inside);
    const std::vector<std::uint8_t> places = places_of(inside);
    std::uint8_t axes = 0;
    for (std::size_t d = 0; d < operand.rank; ++d)
      if (node.reduces(d))
        axes = static_cast<std::uint8_t>(axes | 1u << places[d]);
    node.axes = axes;
    node.rank = kept_of(indices);
    return graph_.add(node);
  }

  /// A reduction whose kept dimensions are new ones.
  std::uint32_t without_kept(Node node) {
    Node view{.op = Op::View,
              .dtype = node.dtype,
              .is_weak = node.is_weak,
              .rank = node.rank};
    std::uint8_t kept = 0;
    for (std::size_t d = 0; d < node.rank; ++d)
      view.dims[d] = node.reduces(d) ? kNewDim : kept++;
    node.keepdims = false;
    node.rank = kept;
    view.operands[0] = graph_.add(node);
    return graph_.add(view);
  }

  std::uint32_t of_elementwise(Node node, const DimIndices& indices) {
    for (std::size_t k = 0; k < shaping_operands(node); ++k) {
      const std::uint32_t operand = node.operands[k];
      node.operands[k] =
          of(operand, last_of(indices, graph_.nodes[operand].rank));
    }
    node.rank = kept_of(indices);
    return add_ordered(graph_, node);
  }

  /// Returns the number of each dimension among the kept ones.
  static std::vector<std::uint8_t> places_of(const DimIndices& indices) {
    std::vector<std::uint8_t> places;
    std::uint8_t next = 0;
    for (const DimIndex& index : indices) {
      places.push_back(next);
      if (index.axis.keeps_axis()) ++next;
    }
    return places;
  }

  Graph& graph_;
  std::map<std::pair<std::uint32_t, DimIndices>, std::uint32_t> known_;
};

/// Applies an index to a dimension that has size 1 in every call. Returns
/// whether its element is kept.
bool settle_single(AxisIndex& axis) {
  const IndexedAxis left = indexed_axis(axis, 1);
  if (axis.keeps_axis()) axis = {};
  return left.size != 0;
}

}  // namespace

std::uint32_t index_node(Graph& graph, std::uint32_t id,
                         std::span<const AxisIndex> axes) {
  const std::vector<DimSet> whole = dims_of(graph, id);
  DimIndices indices;
  Shape sizes;  // kept sizes, if a dimension lost its only element
  for (std::size_t d = 0; d < axes.size(); ++d) {
    AxisIndex axis = checked(axes[d]);
    const bool is_left = !whole[d].empty() || settle_single(axis);
    indices.push_back({axis, whole[d]});
    if (axis.keeps_axis()) sizes.push_back(is_left ? 1 : 0);
  }
  const std::uint32_t made = Indexing(graph).of(id, indices);
  if (std::ranges::find(sizes, 0) == sizes.end()) return made;
  return ProgramBuilder::broadcast_to(graph.value(made),
                                      graph.value(add_shape(graph, sizes, {})))
      .id();
}

}  // namespace gpuos::program

namespace gpuos {

Value ProgramBuilder::index(const Value& value,
                            std::span<const AxisIndex> axes) {
  program::Graph& graph = program::graph_of(value, "index");
  if (axes.size() != static_cast<std::size_t>(value.rank()))
    throw InvalidArgument(
        concat("index: expected ", value.rank(), " axes, got ", axes.size()));
  return graph.value(program::index_node(graph, value.id(), axes));
}

}  // namespace gpuos
