#include "program/graph/call_inputs.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/tensor_view.h"
#include "program/graph/index_axis.h"
#include "program/graph/sizes.h"

namespace gpuos::program {
namespace {

/// A view's dimensions but those of one element.
struct Walk {
  std::array<std::int64_t, kMaxDims> shape{};
  std::array<std::int64_t, kMaxDims> strides{};
  std::size_t dims = 0;

  explicit Walk(const TensorView& view) {
    const auto all = view.element_strides();
    for (std::size_t d = 0; d < view.dims; ++d) {
      if (view.shape[d] == 1) continue;
      shape[dims] = view.shape[d];
      strides[dims++] = all[d];
    }
  }

  /// Returns whether dimensions [first, last) are walked as one.
  bool is_one(std::size_t first, std::size_t last) const {
    for (std::size_t d = first; d + 1 < last; ++d)
      if (strides[d] != strides[d + 1] * shape[d + 1]) return false;
    return true;
  }
};

/// Gives the elements, in C order, another shape. It is empty if that is no
/// view. `shape` has as many elements.
std::optional<TensorView> reshaped(const TensorView& view,
                                   std::span<const std::int64_t> shape) {
  TensorView made = view;
  made.dims = static_cast<std::uint8_t>(shape.size());
  std::ranges::copy(shape, made.shape.begin());
  made.has_strides = false;
  if (view.size() == 0 || view.is_contiguous()) return made;
  made.has_strides = true;
  const Walk walk(view);
  // Dimensions of both that have the same number of elements together.
  std::size_t from = 0;
  std::size_t to = 0;
  while (to < shape.size()) {
    std::size_t end_from = from;
    std::size_t end_to = to + 1;
    std::int64_t left = 1;
    std::int64_t right = shape[to];
    while (left != right) {
      if (left < right)
        left *= walk.shape[end_from++];
      else
        right *= shape[end_to++];
    }
    if (!walk.is_one(from, end_from)) return {};
    std::int64_t stride = end_from > from ? walk.strides[end_from - 1] : 0;
    for (std::size_t d = end_to; d-- > to;) {
      made.strides[d] = stride;
      stride *= shape[d];
    }
    from = end_from;
    to = end_to;
  }
  return made;
}

/// The address of inputs without memory. No task reads it.
alignas(16) char no_memory[16];

void check_arguments(const Plan& plan, std::span<const TensorView> arguments) {
  if (arguments.size() != plan.arguments.size())
    throw InvalidArgument(concat("program: expected ", plan.arguments.size(),
                                 " inputs, got ", arguments.size()));
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (arguments[i].dims != plan.arguments[i].rank)
      throw InvalidArgument(concat("program: expected ", plan.arguments[i].rank,
                                   " dimensions of input ", i, ", got ",
                                   to_string(arguments[i])));
}

Shape shape_of(const TensorView& view) {
  return {view.shape.begin(), view.shape.begin() + view.dims};
}

/// Moves a view by elements. Where nothing is, there may be no address.
void move(TensorView& view, std::int64_t elems) {
  if (view.data == nullptr) return;
  view.data = static_cast<char*>(view.data) +
              elems * static_cast<std::int64_t>(gpuos::size_of(view.dtype));
}

/// Returns the view, without strides if it is contiguous, as for other arrays.
TensorView plain(TensorView view) {
  view.has_strides = !view.is_contiguous();
  return view;
}

/// `shape` for a view of that many elements, its open extent filled in.
Shape closed(const Shape& shape, const TensorView& view) {
  Shape made = shape;
  const auto open = std::ranges::find(made, -1);
  const std::int64_t elems = view.size();
  std::int64_t rest = std::ranges::find(made, 0) == made.end() ? 1 : 0;
  for (const std::int64_t extent : made) {
    if (extent == -1 || rest == 0) continue;
    // More than there are is too much, however much it is.
    rest = rest > elems / extent ? elems + 1 : rest * extent;
  }
  if (open != made.end() && rest != 0 && elems % rest == 0)
    *open = elems / rest;
  else if (open != made.end() || rest != elems)
    throw InvalidArgument(concat("reshape: expected a shape of ", elems,
                                 " elements, got ", shape_text(shape), " for ",
                                 shape_text(shape_of(view))));
  return made;
}

void check_results(const Plan& plan, const CallInputs& inputs,
                   std::span<const TensorView> results) {
  if (results.size() != plan.results.size())
    throw InvalidArgument(concat("program: expected ", plan.results.size(),
                                 " outputs, got ", results.size()));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorView& out = results[i];
    if (out.dims != plan.results[i].rank)
      throw InvalidArgument(concat("program: output ", i, ": expected ",
                                   plan.results[i].rank, " dimensions, got ",
                                   to_string(out)));
    for (std::size_t d = 0; d < out.dims; ++d) {
      const std::int64_t expected =
          inputs.size_of(plan.sets[plan.result_dims[i][d]]);
      if (out.shape[d] != expected)
        throw InvalidArgument(concat("program: output ", i, ": expected ",
                                     expected, " elements along dimension ", d,
                                     ", got ", to_string(out)));
    }
  }
}

TensorView piece_of(const ResultPiece& piece, const CallInputs& inputs,
                    const TensorView& result) {
  TensorView made = result;
  const auto strides = result.element_strides();
  made.has_strides = true;
  std::copy_n(strides.begin(), made.dims, made.strides.begin());
  std::int64_t first = 0;
  for (const ResultPiece::Part& part : piece.parts) {
    const IndexedAxis at = inputs.part_of(part.joined, part.part);
    first += at.first * strides[part.dim];
    made.shape[part.dim] = at.size;
  }
  if (made.size() > 0 && made.data != nullptr)
    made.data = static_cast<char*>(made.data) +
                first * static_cast<std::int64_t>(size_of(made.dtype));
  made.has_strides = !made.is_contiguous();
  return made;
}

}  // namespace

CallInputs::CallInputs(const Plan& plan, std::span<const TensorView> arguments)
    : plan_(plan) {
  check_arguments(plan, arguments);
  if (plan.sources.empty()) {
    views_ = arguments;
    return;
  }
  all_.reserve(plan.sources.size());
  for (const InputSource& source : plan.sources) {
    const bool is_argument = source.kind == InputSource::Kind::Argument;
    add(is_argument ? arguments[source.from] : make(source));
  }
  views_ = all_;
}

void CallInputs::add(const TensorView& view) {
  all_.push_back(view);
  shapes_[all_.size() - 1] = all_.back().shape.data();
}

TensorView CallInputs::make(const InputSource& source) const {
  switch (source.kind) {
    case InputSource::Kind::Index:
      return index(source);
    case InputSource::Kind::Reshape:
      return reshape(source);
    case InputSource::Kind::Joined:
      return joined(source);
    default:
      return shape(source);
  }
}

std::int64_t CallInputs::size_of(const DimSet& whole) const {
  return common_size(plan_, whole, std::span(shapes_.data(), all_.size()));
}

IndexedAxis CallInputs::part_of(std::size_t joined, std::size_t part) const {
  const InputSource& source = plan_.sources[joined];
  const std::size_t rank =
      source.whole.size() / static_cast<std::size_t>(source.shape[0]);
  IndexedAxis at;
  for (std::size_t i = 0; i <= part; ++i) {
    at.first += at.size;
    at.size = size_of(source.whole[i * rank + source.from]);
  }
  return at;
}

/// Indexes an axis of `size`. The value has another size if it is broadcast.
IndexedAxis CallInputs::kept_of(const AxisIndex& axis, const DimSet& whole,
                                std::int64_t size) const {
  const IndexedAxis all{0, size, 1};
  if (axis.kind == AxisIndex::Kind::All) return all;
  const std::int64_t of = size_of(whole);
  if (axis.kind != AxisIndex::Kind::Part) {
    const IndexedAxis kept = indexed_axis(axis, of);
    return size == of ? kept : all;
  }
  const auto joined = static_cast<std::size_t>(axis.stop);
  if (*shapes_[joined] != of)
    throw InvalidArgument(concat("concatenate: expected ", *shapes_[joined],
                                 " elements along the joined axis, got ", of));
  if (size != of) return all;
  return part_of(joined, static_cast<std::size_t>(axis.start));
}

TensorView CallInputs::joined(const InputSource& source) const {
  const auto parts = static_cast<std::size_t>(source.shape[0]);
  const std::size_t rank = source.whole.size() / parts;
  TensorView made(no_memory, 0, DType::Bool);
  for (std::size_t i = 0; i < source.whole.size(); ++i) {
    const std::int64_t size = size_of(source.whole[i]);
    const std::int64_t first = size_of(source.whole[i % rank]);
    if (i % rank == source.from)
      made.shape[0] += size;
    else if (size != first)
      throw InvalidArgument(
          concat("concatenate: expected parts of one size along axis ",
                 i % rank, ", got ", first, " and ", size));
  }
  made.has_strides = true;
  made.strides[0] = 0;
  return made;
}

TensorView CallInputs::index(const InputSource& source) const {
  const TensorView& from = all_[source.from];
  const auto strides = from.element_strides();
  TensorView made = from;
  made.has_strides = true;
  made.dims = 0;
  std::int64_t first = 0;
  for (std::size_t d = 0; d < from.dims; ++d) {
    const AxisIndex& axis = source.axes[d];
    const IndexedAxis kept = kept_of(axis, source.whole[d], from.shape[d]);
    first += kept.first * strides[d];
    if (!axis.keeps_axis()) continue;
    made.shape[made.dims] = kept.size;
    made.strides[made.dims++] = strides[d] * kept.step;
  }
  if (made.size() > 0) move(made, first);
  return plain(made);
}

TensorView CallInputs::reshape(const InputSource& source) const {
  const TensorView& from = all_[source.from];
  const auto strides = from.element_strides();
  TensorView whole = from;
  whole.has_strides = true;
  whole.dims = static_cast<std::uint8_t>(source.whole.size());
  bool is_broadcast = false;
  for (std::size_t d = 0; d < whole.dims; ++d) {
    whole.shape[d] = size_of(source.whole[d]);
    const std::uint8_t dim = source.dims[d];
    const bool has_dim = dim != kNewDim && from.shape[dim] == whole.shape[d];
    whole.strides[d] = has_dim ? strides[dim] : 0;
    is_broadcast = is_broadcast || (!has_dim && whole.shape[d] != 1);
  }
  const Shape shape = closed(source.shape, whole);
  if (const auto made = reshaped(whole, shape)) return plain(*made);
  throw InvalidArgument(concat(
      "reshape: expected ",
      is_broadcast ? "arrays that are not broadcast"
                   : "arrays whose elements are stored in order",
      " for ", shape_text(shape), ", got ",
      shape_text(std::span(from.shape).first(from.dims)),
      is_broadcast
          ? "; reshape the arguments, or the results of the call"
          : "; reshape the results of the call, or a copy of the argument"));
}

TensorView CallInputs::shape(const InputSource& source) const {
  TensorView made(no_memory, 0, DType::Bool);
  made.dims = static_cast<std::uint8_t>(source.shape.size());
  made.has_strides = true;
  std::ranges::copy(source.shape, made.shape.begin());
  made.strides.fill(0);
  const std::size_t new_dims = source.shape.size() - source.whole.size();
  for (std::size_t d = 0; d < source.whole.size(); ++d) {
    const std::int64_t size = size_of(source.whole[d]);
    if (source.shape[new_dims + d] == -1) made.shape[new_dims + d] = size;
    if (size != 1 && size != made.shape[new_dims + d])
      throw InvalidArgument(concat("broadcast_to: expected an axis of 1 or ",
                                   made.shape[new_dims + d], " elements for ",
                                   shape_text(source.shape), ", got ", size));
  }
  return made;
}

CallOutputs::CallOutputs(const Plan& plan, const CallInputs& inputs,
                         std::span<const TensorView> results) {
  views_ = results;
  if (plan.pieces.empty()) return;
  check_results(plan, inputs, results);
  for (const ResultPiece& piece : plan.pieces)
    all_.push_back(piece_of(piece, inputs, results[piece.result]));
  views_ = all_;
}

}  // namespace gpuos::program
