#include "expression/body.h"

#include <algorithm>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::expression {
namespace {

std::uint16_t word_of(const TensorView& view) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned>(view.dtype) |
                                    static_cast<unsigned>(view.dims) << 8);
}

}  // namespace

Body::~Body() {
  for (const Known* known = newest_.load(); known != nullptr;)
    delete std::exchange(known, known->before);
}

const std::shared_ptr<const program::Plan>& Body::plan_for(
    std::span<const TensorView> inputs, const TensorView& out) const {
  Key key;
  key[0] = word_of(out);
  std::size_t words = 1;
  for (const TensorView& input : inputs) key[words++] = word_of(input);
  // This load pairs with the store in make().
  const Known* known = newest_.load(std::memory_order_acquire);
  while (known != nullptr &&
         !std::equal(key.begin(), key.begin() + static_cast<long>(words),
                     known->key.begin()))
    known = known->before;
  return known != nullptr ? known->plan : make(key, inputs, out).plan;
}

const Body::Known& Body::make(const Key& key,
                              std::span<const TensorView> inputs,
                              const TensorView& out) const {
  check(out);
  std::vector<ProgramArgument> arguments;
  for (const TensorView& input : inputs) {
    check(input);
    arguments.push_back({input.dtype, input.dims});
  }
  auto known = std::make_unique<Known>();
  known->key = key;
  known->plan =
      program_of(expression_, arguments, {out.dtype, out.dims}).plan();
  // Another thread may have made an equal plan. Then readers never find one of
  // the two.
  const std::lock_guard lock(making_);
  known->before = newest_.load(std::memory_order_relaxed);
  newest_.store(known.get(), std::memory_order_release);
  return *known.release();
}

void Body::check(const TensorView& view) const {
  if (dtypes_.empty() ||
      std::ranges::find(dtypes_, view.dtype) != dtypes_.end())
    return;
  std::string known;
  for (const DType dtype : dtypes_)
    known += concat(known.empty() ? "" : " or ", name_of(dtype));
  throw InvalidArgument(
      concat("expected buffers of ", known, ", got ", name_of(view.dtype)));
}

}  // namespace gpuos::expression
