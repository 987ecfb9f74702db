#include "program/call_outputs.h"

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::program {
namespace {

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
