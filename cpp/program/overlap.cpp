#include "program/overlap.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "gpuos/dtype.h"
#include "program/layout.h"

namespace gpuos::program {
namespace {

/// `stride` bytes, up to `most` times.
struct Term {
  std::int64_t stride = 0;
  std::int64_t most = 0;
};

/// Whether numbers up to their terms' `most` exist of which the strides' sum is
/// `wanted`. Terms with long strides come first, and no two have the same one.
class Search {
 public:
  explicit Search(std::vector<Term> terms) : terms_(std::move(terms)) {
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

/// Adds the terms of one array; returns the address of its lowest byte.
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
  return Search(std::move(terms)).finds(low_b + length - low_a);
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
    if (Search(std::move(terms)).finds(back - stride)) return true;
    before.push_back({stride, 2 * most});
    back += stride * most;
  }
  return false;
}

}  // namespace gpuos::program
