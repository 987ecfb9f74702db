#include "requests/fragment.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "requests/recipe_values.h"

namespace gpuos::requests {
namespace {

/// A value of the program.
struct Source {
  Value value;
  bool is_framed = false;  // it depends on an array of the frame's shape
};

struct Sources {
  std::vector<Source> inputs;
  std::vector<Source> numbers;
  std::vector<Source> values;
  Value framed;  // an input with the frame's shape; empty: there is none

  const Source& of(const Wire& wire) const {
    return wire.kind == Wire::Kind::Input    ? inputs[wire.index]
           : wire.kind == Wire::Kind::Number ? numbers[wire.index]
                                             : values[wire.value];
  }
};

// A value of numbers and rows alone does not have the frame's shape. It gets
// that shape by a selection from itself.
Value with_shape(const Source& source, const Value& framed) {
  if (source.is_framed) return source.value;
  if (framed.graph() == nullptr)
    throw InvalidArgument("request: expected an operand with a shape");
  return where(equal(framed, framed), source.value, source.value);
}

Source value_of(const Fragment::Step& step, const Sources& known) {
  const Request& request = *step.request;
  std::array<Value, kMaxRequestOperands> operands;
  Source made;
  for (std::size_t i = 0; i < request.operands; ++i) {
    const Source& source = known.of(step.wires[i]);
    operands[i] = source.value;
    made.is_framed = made.is_framed || source.is_framed;
  }
  const std::span given(operands.data(), request.operands);
  if (is_row_recipe(request.recipe)) {
    operands[0] = with_shape(known.of(step.wires[0]), known.framed);
    // Results of rows keep their axes, so that they spread over the frame.
    made.value =
        row_value(request.recipe, request.compute, request.axes, true, given);
    made.is_framed = !is_reducing(request.recipe);
  } else {
    made.value = elementwise_value(request.recipe, request.compute, given);
  }
  made.value = astype(made.value, request.out_dtype);
  return made;
}

}  // namespace

Scalar number_of(const Request& request, std::size_t place) {
  if ((request.integers >> place & 1) != 0)
    return static_cast<std::int64_t>(request.values[place]);
  return std::bit_cast<double>(request.values[place]);
}

TensorView flat_view(const Frame& frame, std::uint64_t address, DType dtype) {
  TensorView view;
  view.data = reinterpret_cast<void*>(address);
  view.dtype = dtype;
  if (frame.view == nullptr) {
    view.shape[0] = static_cast<std::int64_t>(frame.elems);
    return view;
  }
  view.dims = frame.view->dims;
  view.shape = frame.view->shape;
  return view;
}

TensorView reduced_view(const Frame& frame, std::uint64_t address,
                        DType dtype) {
  TensorView view = flat_view(frame, address, dtype);
  for (std::size_t d = 0; d < view.dims; ++d)
    if ((frame.axes >> d & 1) != 0) view.shape[d] = 1;
  return view;
}

bool is_same_array(const TensorView& a, const TensorView& b) noexcept {
  if (a.data != b.data || a.dtype != b.dtype || a.dims != b.dims ||
      a.has_strides != b.has_strides)
    return false;
  for (std::size_t d = 0; d < a.dims; ++d) {
    if (a.shape[d] != b.shape[d]) return false;
    if (a.has_strides && a.shape[d] > 1 && a.strides[d] != b.strides[d])
      return false;
  }
  return true;
}

Fragment::Mark Fragment::mark() const noexcept {
  return {steps_.size(),         words_.size(),         inputs_.size(), framed_,
          known_numbers_.size(), literal_users_.size(), literals_};
}

void Fragment::clear() noexcept {
  inputs_.clear();
  framed_ = 0;
  known_numbers_.clear();
  numbers_.clear();
  steps_.clear();
  words_.clear();
  literal_users_.clear();
  literals_ = 0;
  clear_outputs();
}

void Fragment::rewind(const Mark& mark) noexcept {
  clear_outputs();
  if (steps_.size() == mark.steps) return;
  steps_.resize(mark.steps);
  words_.resize(mark.words);
  inputs_.resize(mark.inputs);
  framed_ = mark.framed;
  known_numbers_.resize(mark.numbers);
  numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(mark.numbers),
                 numbers_.end());
  literal_users_.resize(mark.literal_users);
  literals_ = mark.literals;
}

void Fragment::clear_outputs() noexcept {
  outputs_.clear();
  output_values_.clear();
  framed_outputs_ = 0;
}

void Fragment::count_literals(const Request& request) {
  const std::size_t literals = literals_of(request);
  if (literals == 0) return;
  const LiteralUser user{request.recipe, request.compute, request.out_dtype};
  if (std::ranges::find(literal_users_, user) != literal_users_.end()) return;
  literal_users_.push_back(user);
  literals_ += literals;
}

Wire Fragment::input(const TensorView& array, bool is_framed) {
  std::size_t i = 0;
  while (i < inputs_.size() && !is_same_array(inputs_[i], array)) ++i;
  if (i == inputs_.size()) inputs_.push_back(array);
  if (is_framed) framed_ |= std::uint64_t{1} << i;
  return {.kind = Wire::Kind::Input, .index = static_cast<std::uint8_t>(i)};
}

Wire Fragment::number(const Request& request, std::size_t place) {
  const Number number{request.compute, (request.integers >> place & 1) != 0,
                      request.values[place]};
  std::size_t i = 0;
  while (i < known_numbers_.size() && known_numbers_[i] != number) ++i;
  if (i == known_numbers_.size()) {
    known_numbers_.push_back(number);
    numbers_.push_back(number_of(request, place));
  }
  return {.kind = Wire::Kind::Number, .index = static_cast<std::uint8_t>(i)};
}

std::uint16_t Fragment::add(const Request& request,
                            std::span<const Wire> wires) {
  const auto value = static_cast<std::uint16_t>(steps_.size());
  Step& step = steps_.emplace_back();
  step.request = &request;
  count_literals(request);
  const auto byte = [](auto field, int place) {
    return static_cast<std::uint64_t>(field) << 8 * place;
  };
  words_.push_back(byte(request.recipe, 0) | byte(request.operands, 2) |
                   byte(request.compute, 3) | byte(request.out_dtype, 4) |
                   byte(request.axes, 5));
  // Three wires fill a word. Few requests have four.
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < wires.size(); ++i) {
    step.wires[i] = wires[i];
    if (i == 3) words_.push_back(std::exchange(word, 0));
    word = word << 20 | wires[i].bits();
  }
  words_.push_back(word);
  return value;
}

void Fragment::output(std::uint16_t value, const TensorView& array,
                      bool is_framed) {
  if (is_framed) framed_outputs_ |= std::uint64_t{1} << outputs_.size();
  output_values_.push_back(value);
  outputs_.push_back(array);
}

std::span<const std::uint64_t> Fragment::structure() {
  // Follows the steps, so the counts at the end distinguish both.
  for (const TensorView& view : inputs_)
    words_.push_back(static_cast<std::uint64_t>(view.dtype) << 8 | view.dims);
  for (const std::uint16_t value : output_values_) words_.push_back(value);
  words_.push_back(framed_);
  words_.push_back(framed_outputs_);
  words_.push_back(inputs_.size() << 32 | outputs_.size());
  return words_;
}

Program Fragment::build() const {
  ProgramBuilder builder;
  Sources known;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TensorView& view = inputs_[i];
    const bool is_framed = (framed_ >> i & 1) != 0;
    const bool is_like = is_framed && known.framed.graph() != nullptr;
    const Value input = is_like ? builder.input_like(known.framed, view.dtype)
                                : builder.input(view.dtype, view.dims);
    known.inputs.push_back({input, is_framed});
    if (is_framed && !is_like) known.framed = input;
  }
  for (const Number& number : known_numbers_)
    known.numbers.push_back({builder.scalar(number.dtype)});
  for (const Step& step : steps_) known.values.push_back(value_of(step, known));
  for (std::size_t i = 0; i < output_values_.size(); ++i) {
    const Source& source = known.values[output_values_[i]];
    const bool is_framed = (framed_outputs_ >> i & 1) != 0;
    builder.output(is_framed ? with_shape(source, known.framed) : source.value);
  }
  return builder.build();
}

}  // namespace gpuos::requests
