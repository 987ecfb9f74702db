#include <algorithm>

#include "gpuos/fused.h"

namespace gpuos {

bool TracedFunction::serves(CallArguments& other,
                            const ForeignObjects* foreign) const {
  const auto given = other.own_scalars();
  const std::size_t numbers = std::min(given.size(), call.scalars.size());
  // First, because most of many programs differ in one number.
  for (const std::uint32_t number : asked)
    if (number < numbers && !call.scalars[number].is_same(given[number]))
      return false;
  const auto objects = other.key().objects();
  if (!has_words(other.key()) || call.objects.size() != objects.size())
    return false;
  for (std::size_t i = 0; i < objects.size(); ++i)
    if (!foreign->is_same(call.objects[i].get(), objects[i].object))
      return false;
  const auto is_same_shape = [](const Shape& shape, const TensorView& view) {
    return std::ranges::equal(shape, std::span(view.shape).first(view.dims));
  };
  if (has_asked_shapes_ &&
      !std::ranges::equal(call.shapes, other.inputs(), is_same_shape))
    return false;
  return steps.empty() || computes_the_same(other, *foreign);
}

bool TracedFunction::computes_the_same(CallArguments& other,
                                       const ForeignObjects& foreign) const {
  using Kind = StepResult::Kind;
  const auto numbers = other.numbers();
  std::vector<HeldObject> results;
  std::vector<Scalar> more;
  for (const NumberStep& step : steps) {
    std::vector<void*> operands;
    for (const auto& [place, constant] : step.operands)
      operands.push_back(constant ? constant.get()
                         : place < numbers.size()
                             ? numbers[place]
                             : results[place - numbers.size()].get());
    StepResult result = foreign.compute(step.function.get(), operands);
    const bool is_alike =
        step.same == nullptr
            ? result.kind == step.kind && result.word == step.word
            : (result.kind == Kind::Error) == (step.kind == Kind::Error) &&
                  foreign.is_same(result.object.get(), step.same.get());
    if (!is_alike) return false;
    more.push_back(step.kind == Kind::Number ? result.scalar : 0.0);
    results.push_back(std::move(result.object));
  }
  other.set_more_scalars(more);
  return true;
}

std::shared_ptr<const std::vector<TensorView>> TracedFunction::output_forms(
    std::span<const TensorView> inputs) {
  std::ptrdiff_t at = 0;
  bool is_known = outputs_ != nullptr;
  for (const TensorView& input : inputs) {
    is_known = is_known &&
               std::equal(input.shape.begin(), input.shape.begin() + input.dims,
                          input_dims_.begin() + at);
    at += input.dims;
  }
  if (is_known) return outputs_;
  std::vector<Shape> shapes;
  input_dims_.clear();
  for (const TensorView& input : inputs) {
    const Shape& shape = shapes.emplace_back(input.shape.begin(),
                                             input.shape.begin() + input.dims);
    input_dims_.insert(input_dims_.end(), shape.begin(), shape.end());
  }
  outputs_.reset();
  auto forms = std::make_shared<std::vector<TensorView>>();
  for (const Shape& shape : program().output_shapes(shapes)) {
    const DType dtype = program().outputs()[forms->size()].dtype;
    TensorView& form = forms->emplace_back();
    form.dtype = dtype;
    form.dims = static_cast<std::uint8_t>(shape.size());
    std::ranges::copy(shape, form.shape.begin());
  }
  return outputs_ = std::move(forms);
}

std::vector<TracedFunction::Deciding> TracedFunction::deciding_arguments()
    const {
  AskedScalars deciding = asked;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const auto place = static_cast<std::uint32_t>(call.scalars.size() + i);
    if (steps[i].same == nullptr && !deciding.contains(place)) continue;
    for (const NumberStep::Operand& operand : steps[i].operands)
      if (!operand.constant) deciding.insert(operand.number);
  }
  std::vector<Deciding> found;
  std::uint32_t scalar = 0;
  auto object = call.objects.begin();
  std::size_t position = 0;
  for (auto word = call.words.begin(); word != call.words.end(); ++word) {
    Deciding argument{position++, nullptr};
    if (word->kind == ArgumentKind::Keyword) {
      argument.name = (object++)->get();
      ++word;
    }
    bool decides = false;
    if (word->kind == ArgumentKind::Static) {
      ++object;
      decides = true;
    } else if (word->kind != ArgumentKind::Array) {
      decides = deciding.contains(scalar++);
    }
    if (decides) found.push_back(argument);
  }
  return found;
}

}  // namespace gpuos
