#include "program/call_checks.h"

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/overlap.h"
#include "program/sizes.h"

namespace gpuos::program {
namespace {

std::uint64_t address_of(const TensorView& view) {
  return reinterpret_cast<std::uint64_t>(view.data);
}

void check_views(std::span<const TensorView> views,
                 std::span<const ProgramArgument> arguments, const char* name) {
  if (views.size() != arguments.size())
    throw InvalidArgument(concat("program: expected ", arguments.size(), " ",
                                 name, "buffers, got ", views.size()));
  for (std::size_t i = 0; i < views.size(); ++i) {
    const TensorView& view = views[i];
    if (view.dtype != arguments[i].dtype || view.dims != arguments[i].rank)
      throw InvalidArgument(concat("program: ", name, i, ": expected ",
                                   arguments[i].rank, " dimensions of ",
                                   name_of(arguments[i].dtype), ", got ",
                                   to_string(view)));
    if (view.size() < 0)
      throw InvalidArgument(concat("program: ", name, i,
                                   ": expected sizes of at least 0, got ",
                                   to_string(view)));
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_address(
    const TensorView& view, const char* name, std::size_t i) {
  throw InvalidArgument(concat(
      "program: ", name, i, ": expected an address that is a multiple of ",
      size_of(view.dtype), ", got ", address_of(view)));
}

void check_aligned(std::span<const TensorView> views,
                   const std::vector<Extent>& extents, const char* name) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    // Sizes of elements are powers of two, and a division is slow.
    const std::uint64_t address = address_of(views[i]);
    const std::uint64_t beyond = address & (size_of(views[i].dtype) - 1);
    if ((address == 0 || beyond != 0) && !extents[i].is_empty())
      refuse_address(views[i], name, i);
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_output(std::size_t i) {
  throw InvalidArgument(concat("program: output ", i, " is read-only"));
}

void check_writable(const TensorView& out, std::size_t i) {
  if (out.read_only) refuse_output(i);
}

/// Refuses two outputs that share memory, because their order is undefined.
void check_different(const Prepared& prepared, const CallViews& call,
                     std::uint32_t k, std::uint32_t i) {
  const TensorView& one = call.outputs[k];
  const TensorView& other = call.outputs[i];
  if (!do_overlap(address_of(one), prepared.outputs[k], address_of(other),
                  prepared.outputs[i]) ||
      !share_memory(one, other))
    return;
  throw InvalidArgument(concat("program: outputs ", k, " and ", i,
                               one.data == other.data
                                   ? " are the same buffer"
                                   : " overlap: expected arrays that have no "
                                     "memory in common"));
}

}  // namespace

void check_arrays(const Plan& plan, const CallViews& call) {
  check_views(call.inputs, plan.inputs, "input ");
  check_views(call.outputs, plan.outputs, "output ");
}

void check_scalars(const Plan& plan, std::span<const gpuos::Scalar> scalars) {
  if (scalars.size() != plan.scalar_arguments)
    throw InvalidArgument(concat("program: expected ", plan.scalar_arguments,
                                 " scalars, got ", scalars.size()));
}

void check_outputs(const Plan& plan, std::span<const std::int64_t> sizes,
                   std::span<const TensorView> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const TensorView& out = outputs[i];
    check_writable(out, i);
    for (std::size_t d = 0; d < out.dims; ++d) {
      const std::int64_t expected = sizes[plan.output_dims[i][d]];
      if (out.shape[d] != expected)
        throw InvalidArgument(concat("program: output ", i, ": expected ",
                                     expected, " elements along dimension ", d,
                                     ", got ", to_string(out)));
    }
    if (out.has_strides && overlaps_itself(out))
      throw InvalidArgument(concat("program: output ", i,
                                   ": expected elements that lie apart, got ",
                                   to_string(out)));
  }
}

void check_addresses(const Prepared& prepared, const CallViews& call) {
  check_aligned(call.inputs, prepared.inputs, "input ");
  check_aligned(call.outputs, prepared.outputs, "output ");
  for (std::size_t i = 0; i < call.outputs.size(); ++i)
    check_writable(call.outputs[i], i);
  for (const Disjoint& pair : prepared.disjoint) {
    const std::uint64_t out = address_of(call.outputs[pair.output]);
    const std::uint64_t in = address_of(call.inputs[pair.input]);
    if (!do_overlap(out, prepared.outputs[pair.output], in,
                    prepared.inputs[pair.input]) ||
        (pair.may_be_same && out == in))
      continue;
    throw InvalidArgument(concat("program: output ", pair.output,
                                 " overlaps input ", pair.input,
                                 " without being the same buffer"));
  }
  for (const auto& [k, i] : prepared.different)
    check_different(prepared, call, k, i);
}

void check_empty(const Schedule& schedule,
                 std::span<const std::int64_t> sizes) {
  for (const Pass& pass : schedule.passes) {
    if (!pass.has_reduction || count_of(pass.inner, sizes) != 0) continue;
    for (const Step& step : pass.steps) {
      if (step.kind != Step::Kind::Reduce || step.may_be_empty ||
          step.op == Op::Sum || step.op == Op::Prod)
        continue;
      throw InvalidArgument(concat("program: ", info_of(step.op).name,
                                   ": expected at least 1 element, got 0"));
    }
  }
}

}  // namespace gpuos::program
