#include <algorithm>
#include <utility>

#include "gpuos/fused.h"

namespace gpuos {

TracedNumbers::TracedNumbers(ProgramBuilder& builder, TracedFunction& made)
    : builder_(builder), made_(made), numbers_(made.call.numbers) {}

Value TracedNumbers::next(const ArgumentWord& word) {
  const auto place = static_cast<std::uint32_t>(ids_.size());
  if (word.kind == ArgumentKind::Point) points_.insert(place);
  return stand(word, made_.call.scalars[place]);
}

Value TracedNumbers::add(NumberStep step, StepResult result) {
  using Kind = StepResult::Kind;
  const auto place = static_cast<std::uint32_t>(ids_.size());
  const bool is_scalar = result.kind == Kind::Number;
  // Each result has a place in the program, so that all are counted alike.
  if (!is_scalar) {
    result.word = {.kind = ArgumentKind::Number, .dtype = DType::Float64};
    result.scalar = 0.0;
  }
  step.kind = result.kind;
  if (is_scalar) step.word = result.word;
  const bool decides =
      is_scalar ? is_asked(place) : result.kind != Kind::Objects;
  if (decides) step.same = result.object;
  made_.steps.push_back(std::move(step));
  made_.more_scalars.push_back(result.scalar);
  numbers_.push_back(std::move(result.object));
  return stand(result.word, result.scalar);
}

std::optional<std::uint32_t> TracedNumbers::place_of(const Value& value) const {
  if (!builder_.makes(value)) return std::nullopt;
  const auto id = std::ranges::lower_bound(ids_, value.id());
  if (id == ids_.end() || *id != value.id()) return std::nullopt;
  const auto place = static_cast<std::uint32_t>(id - ids_.begin());
  return points_.contains(place) ? std::nullopt : std::optional(place);
}

void TracedNumbers::decide(std::uint32_t place) {
  const std::size_t arguments = made_.call.scalars.size();
  if (place < arguments)
    made_.asked.insert(place);
  else
    made_.steps[place - arguments].same = numbers_[place];
}

Value TracedNumbers::stand(const ArgumentWord& word, const Scalar& scalar) {
  Value value = stand_for(builder_, word, scalar);
  ids_.push_back(value.id());
  return value;
}

}  // namespace gpuos
