#include "program/calls/call_checks.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/concat.h"
#include "gpuos/dtype.h"
#include "gpuos/error.h"
#include "program/calls/layout.h"
#include "program/graph/sizes.h"

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
  throw InvalidArgument(concat("program: output ", i,
                               ": expected writable memory, got read-only"));
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
                                   : " overlap: expected arrays without common "
                                     "memory"));
}

/// `stride` bytes, up to `most` times.
struct Term {
  std::int64_t stride = 0;
  std::int64_t most = 0;
};

/// Searches for numbers up to the `most` of their terms, with `wanted` as the
/// sum of their strides. Terms with long strides come first, and all strides
/// differ.
class SumSearch {
 public:
  explicit SumSearch(std::vector<Term> terms) : terms_(std::move(terms)) {
    std::ranges::sort(terms_, std::greater{}, &Term::stride);
    std::vector<Term> merged;
    for (const Term& term : terms_) {
      if (!merged.empty() && merged.back().stride == term.stride)
        merged.back().most += term.most;
      else
        merged.push_back(term);
    }
    terms_ = std::move(merged);
    reach_.assign(terms_.size() + 1, 0);
    for (std::size_t i = terms_.size(); i-- > 0;)
      reach_[i] = reach_[i + 1] + terms_[i].stride * terms_[i].most;
  }

  bool finds(std::int64_t wanted) { return finds(0, wanted); }

 private:
  static constexpr int kMostSteps = 1 << 16;

  bool finds(std::size_t i, std::int64_t wanted) {
    if (wanted < 0 || wanted > reach_[i]) return false;
    if (i == terms_.size()) return true;
    const Term& term = terms_[i];
    // The others must reach the rest.
    const std::int64_t rest = wanted - reach_[i + 1];
    const std::int64_t least =
        rest <= 0 ? 0 : (rest + term.stride - 1) / term.stride;
    for (std::int64_t n = std::min(term.most, wanted / term.stride); n >= least;
         --n) {
      if (++steps_ > kMostSteps) return true;
      if (finds(i + 1, wanted - n * term.stride)) return true;
    }
    return false;
  }

  std::vector<Term> terms_;
  std::vector<std::int64_t> reach_;  // of a term and all later ones
  int steps_ = 0;
};

/// Adds the terms of one array. Returns the address of its lowest byte.
std::int64_t add_terms(const TensorView& view, std::vector<Term>& terms) {
  const auto size = static_cast<std::int64_t>(size_of(view.dtype));
  auto lowest = reinterpret_cast<std::int64_t>(view.data);
  if (size > 1) terms.push_back({1, size - 1});
  for (std::size_t d = 0; d < view.dims; ++d) {
    // The stride of one element may be any number.
    if (view.shape[d] <= 1) continue;
    const std::int64_t stride = stride_of(view, d) * size;
    if (stride == 0) continue;
    terms.push_back({std::abs(stride), view.shape[d] - 1});
    if (stride < 0) lowest += stride * (view.shape[d] - 1);
  }
  return lowest;
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
      throw InvalidArgument(concat(
          "program: output ", i,
          ": expected elements that do not overlap, got ", to_string(out)));
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

bool share_memory(const TensorView& a, const TensorView& b) {
  if (a.size() == 0 || b.size() == 0) return false;
  std::vector<Term> terms;
  const std::int64_t low_a = add_terms(a, terms);
  const std::size_t of_a = terms.size();
  const std::int64_t low_b = add_terms(b, terms);
  // Steps of `a` forward and of `b` back from its end meet at its beginning.
  std::int64_t length = 0;
  for (std::size_t i = of_a; i < terms.size(); ++i)
    length += terms[i].stride * terms[i].most;
  return SumSearch(std::move(terms)).finds(low_b + length - low_a);
}

bool overlaps_itself(const TensorView& view) {
  if (view.size() <= 1) return false;
  // Two elements are at one place if steps along the axes, not all of them 0,
  // lead nowhere: one or more along the last of these axes, and any along those
  // before it, counted from as many back as there are.
  std::vector<Term> before;
  std::int64_t back = 0;
  for (std::size_t d = 0; d < view.dims; ++d) {
    const std::int64_t most = view.shape[d] - 1;
    if (most == 0) continue;
    const std::int64_t stride = std::abs(stride_of(view, d));
    if (stride == 0) return true;
    std::vector<Term> terms = before;
    terms.push_back({stride, most - 1});
    if (SumSearch(std::move(terms)).finds(back - stride)) return true;
    before.push_back({stride, 2 * most});
    back += stride * most;
  }
  return false;
}

}  // namespace gpuos::program
