#include "program/graph/sizes.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/graph/call_inputs.h"

namespace gpuos::program {
namespace {

/// A row that is longer is better reduced by several workers.
constexpr std::int64_t kLongRow = 1 << 16;
/// This many rows keep all workers of a large device busy.
constexpr std::int64_t kManyRows = 256;

/// Returns the name of an input for the caller.
std::string name_of(const Plan& plan, std::uint32_t input) {
  if (plan.sources.empty()) return concat("input ", input);
  std::uint32_t root = input;
  while (plan.sources[root].kind == InputSource::Kind::Index ||
         plan.sources[root].kind == InputSource::Kind::Reshape)
    root = plan.sources[root].from;
  const InputSource& source = plan.sources[root];
  if (source.kind == InputSource::Kind::Shape) return "what broadcasts";
  return concat(root == input ? "input " : "a view of input ", source.from);
}

[[noreturn]] void refuse_sizes(const Plan& plan, const DimSet& set,
                               const Dim& dim, std::int64_t size,
                               std::int64_t other) {
  throw InvalidArgument(concat("program: expected sizes that broadcast, got ",
                               size, " for dimension ", dim.dim, " of ",
                               name_of(plan, dim.input), " and ", other,
                               " for dimension ", set.front().dim, " of ",
                               name_of(plan, set.front().input)));
}

void check_alike(const Plan& plan,
                 std::span<const std::int64_t* const> shapes) {
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    const std::uint32_t other = plan.alike[i];
    for (int d = 0; other != i && d < plan.inputs[i].rank; ++d)
      if (shapes[i][d] != shapes[other][d])
        throw InvalidArgument(concat(
            "program: expected input ", i, " to have the shape of input ",
            other, ", got ", shapes[i][d], " and ", shapes[other][d],
            " elements along dimension ", d));
  }
}

/// Bytes of that many elements of any dtype can be counted.
constexpr std::int64_t kMostElements = std::int64_t{1} << 59;

/// `count` times the sizes of `dims`. Throws: InvalidArgument if it is too
/// much.
std::int64_t times(std::int64_t count, std::span<const SetId> dims,
                   std::span<const std::int64_t> sizes) {
  for (const SetId dim : dims)
    if (sizes[dim] == 0) return 0;
  for (const SetId dim : dims) {
    if (count != 0 && sizes[dim] > kMostElements / count)
      throw InvalidArgument(concat("program: expected at most ", kMostElements,
                                   " elements, got ", count, " times ",
                                   sizes[dim], " and more"));
    count *= sizes[dim];
  }
  return count;
}

}  // namespace

std::int64_t common_size(const Plan& plan, const DimSet& set,
                         std::span<const std::int64_t* const> shapes) {
  std::int64_t common = 1;
  for (const Dim& dim : set) {
    const std::int64_t size = shapes[dim.input][dim.dim];
    if (size == common || size == 1) continue;
    if (common != 1) refuse_sizes(plan, set, dim, size, common);
    common = size;
  }
  return common;
}

void find_sizes(const Plan& plan, std::span<const std::int64_t* const> shapes,
                std::vector<std::int64_t>& sizes) {
  check_alike(plan, shapes);
  sizes.resize(plan.sets.size());
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = common_size(plan, plan.sets[i], shapes);
  for (const Schedule* schedule : {&plan.fused, &plan.split})
    for (const Pass& pass : schedule->passes)
      times(times(1, pass.outer, sizes), pass.inner, sizes);
}

std::int64_t count_of(std::span<const SetId> dims,
                      std::span<const std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const SetId dim : dims) product *= sizes[dim];
  return product;
}

bool is_fused_best(const Plan& plan, std::span<const std::int64_t> sizes) {
  for (const Pass& pass : plan.fused.passes) {
    for (const auto& [a, b] : pass.equal)
      if (sizes[a] != sizes[b]) return false;
    if (pass.loops() > 1 && count_of(pass.inner, sizes) > kLongRow &&
        count_of(pass.outer, sizes) < kManyRows)
      return false;
  }
  return true;
}

std::vector<Shape> result_shapes(const Plan& plan,
                                 std::span<const Shape> inputs) {
  std::vector<TensorView> views;  // without memory
  for (const Shape& shape : inputs) {
    if (shape.size() > kMaxDims)
      throw InvalidArgument(concat("program: expected at most ", kMaxDims,
                                   " dimensions, got ", shape.size()));
    TensorView& view = views.emplace_back();
    view.dims = static_cast<std::uint8_t>(shape.size());
    std::ranges::copy(shape, view.shape.begin());
  }
  const CallInputs all(plan, views);
  std::vector<const std::int64_t*> shapes;
  for (const TensorView& view : all.views())
    shapes.push_back(view.shape.data());
  std::vector<std::int64_t> sizes;
  find_sizes(plan, shapes, sizes);
  std::vector<Shape> result;
  for (const auto& dims : plan.result_dims) {
    Shape& shape = result.emplace_back();
    for (const SetId dim : dims) shape.push_back(sizes[dim]);
  }
  return result;
}

}  // namespace gpuos::program

namespace gpuos {

std::vector<Shape> Program::output_shapes(std::span<const Shape> inputs) const {
  if (plan_ == nullptr)
    throw InvalidArgument(
        "Program: expected a built program, got an empty one");
  return program::result_shapes(*plan_, inputs);
}

}  // namespace gpuos
