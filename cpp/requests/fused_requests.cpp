#include "requests/fused_requests.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/word_hash.h"
#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"
#include "program/graph/graph.h"
#include "requests/alias_analysis.h"

namespace gpuos::requests {
namespace {

/// A value of the program.
struct Source {
  Value value;
  bool has_full_shape = false;  // it depends on an array of the space's shape
};

struct Sources {
  std::vector<Source> inputs;
  std::vector<Source> numbers;
  std::vector<Source> values;
  Value full_shapes;  // an input with the space's shape; empty: there is none

  const Source& of(const OperandSource& link) const {
    return link.kind == OperandSource::Kind::Input    ? inputs[link.index]
           : link.kind == OperandSource::Kind::Number ? numbers[link.index]
                                                      : values[link.value];
  }
};

// A value of numbers and rows alone does not have the space's shape. It gets
// that shape by a selection from itself.
Value with_shape(const Source& source, const Value& full_shapes) {
  if (source.has_full_shape) return source.value;
  if (full_shapes.graph() == nullptr)
    throw InvalidArgument(
        "request: expected an operand with a shape, got only numbers and rows");
  return where(equal(full_shapes, full_shapes), source.value, source.value);
}

// Returns the axes of a mask. All of them are "all", which an argmax needs.
Axes axes_of(std::uint8_t mask, int rank) {
  if (mask + 1u == 1u << rank) return std::nullopt;
  std::vector<int> axes;
  for (int d = 0; d < rank; ++d)
    if ((mask >> d & 1) != 0) axes.push_back(d);
  return axes;
}

// Results of rows keep their axes, so that they spread over the space.
Value value_of(const Request& request, std::span<const Value> operands) {
  const RequestFunction& function = *request.function;
  std::array<Value, kMaxRequestOperands> x;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_condition = (function.conditions >> i & 1) != 0;
    x[i] = astype(operands[i], is_condition ? DType::Bool : request.compute);
  }
  const std::span given(x.data(), operands.size());
  const Value made =
      function.is_of_rows()
          ? function.of_rows(given, axes_of(request.axes, x[0].rank()), true)
          : function.of_elements(given);
  return astype(made, request.out_dtype);
}

Source value_of(const FusedRequests::Step& step, const Sources& known,
                ProgramBuilder& builder) {
  const Request& request = *step.request;
  if (is_whole(request)) {
    std::vector<Value> arrays;
    for (std::size_t i = 0; i < request.operands; ++i)
      if (!is_number(request, i))
        arrays.push_back(known.of(step.links[i]).value);
    const auto& function =
        static_cast<const ProgramFunction&>(*request.function);
    return {builder.insert(function.result, arrays)};
  }
  std::array<Value, kMaxRequestOperands> operands;
  Source made;
  for (std::size_t i = 0; i < request.operands; ++i) {
    const Source& source = known.of(step.links[i]);
    operands[i] = source.value;
    made.has_full_shape = made.has_full_shape || source.has_full_shape;
  }
  const std::span given(operands.data(), request.operands);
  if (is_row_function(request)) {
    operands[0] = with_shape(known.of(step.links[0]), known.full_shapes);
    made.has_full_shape = !is_reducing(request);
  }
  made.value = value_of(request, given);
  return made;
}

}  // namespace

Scalar number_of(const Request& request, std::size_t place) {
  if (is_whole(request))
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    return *reinterpret_cast<const Scalar*>(request.values[place]);
  if ((request.integers >> place & 1) != 0)
    return static_cast<std::int64_t>(request.values[place]);
  return std::bit_cast<double>(request.values[place]);
}

TensorView flat_view(const IterationSpace& space, std::uint64_t address,
                     DType dtype) {
  TensorView view;
  view.data = reinterpret_cast<void*>(address);
  view.dtype = dtype;
  if (space.view == nullptr) {
    view.shape[0] = static_cast<std::int64_t>(space.elems);
    return view;
  }
  view.dims = space.view->dims;
  view.shape = space.view->shape;
  return view;
}

TensorView reduced_view(const IterationSpace& space, std::uint64_t address,
                        DType dtype) {
  TensorView view = flat_view(space, address, dtype);
  for (std::size_t d = 0; d < view.dims; ++d)
    if ((space.axes >> d & 1) != 0) view.shape[d] = 1;
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

FusedRequests::Mark FusedRequests::mark() const noexcept {
  return {steps_.size(), words_.size(),         inputs_.size(),
          full_shapes_,  known_numbers_.size(), literal_users_.size(),
          literals_};
}

void FusedRequests::clear() noexcept {
  inputs_.clear();
  full_shapes_ = 0;
  known_numbers_.clear();
  numbers_.clear();
  steps_.clear();
  words_.clear();
  literal_users_.clear();
  literals_ = 0;
  clear_outputs();
}

void FusedRequests::rewind(const Mark& mark) noexcept {
  clear_outputs();
  if (steps_.size() == mark.steps) return;
  steps_.resize(mark.steps);
  words_.resize(mark.words);
  inputs_.resize(mark.inputs);
  full_shapes_ = mark.full_shapes;
  known_numbers_.resize(mark.numbers);
  numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(mark.numbers),
                 numbers_.end());
  literal_users_.resize(mark.literal_users);
  literals_ = mark.literals;
}

void FusedRequests::clear_outputs() noexcept {
  outputs_.clear();
  output_values_.clear();
  framed_outputs_ = 0;
}

Value result_alone(const Request& request) {
  ProgramBuilder builder;
  const int rank = std::bit_width(request.axes);
  std::array<Value, kMaxRequestOperands> x;
  for (std::size_t i = 0; i < request.operands; ++i)
    x[i] = is_number(request, i) ? builder.scalar(request.compute)
                                 : builder.input(request.dtypes[i], rank);
  try {
    return is_whole(request)
               ? static_cast<const ProgramFunction&>(*request.function).result
               : value_of(request, std::span(x.data(), request.operands));
  } catch (const InvalidArgument&) {
    return {};  // build() throws it again, where it is reported
  }
}

// Counts the words of the numbers of a function.
std::uint32_t FusedRequests::literals_of(const Request& request) {
  const Value made = result_alone(request);
  if (made.graph() == nullptr) return 0;
  const program::Graph& graph = *made.graph();
  return static_cast<std::uint32_t>(
      std::ranges::count_if(graph.nodes, [&](const program::Node& node) {
        return node.op == Op::Extent ||
               (node.op == Op::Scalar && graph.scalars[node.index].literal);
      }));
}

void FusedRequests::count_literals(const Request& request) {
  const LiteralUser user{request.function, request.compute, request.out_dtype};
  const auto place = reinterpret_cast<std::uintptr_t>(user.function) / 8 +
                     static_cast<std::size_t>(user.compute);
  KnownLiterals& known = known_literals_[place % known_literals_.size()];
  if (known.user != user) known = {user, literals_of(request)};
  if (known.count == 0) return;
  if (std::ranges::find(literal_users_, user) != literal_users_.end()) return;
  literal_users_.push_back(user);
  literals_ += known.count;
}

OperandSource FusedRequests::input(const TensorView& array,
                                   bool has_full_shape) {
  std::size_t i = 0;
  while (i < inputs_.size() && !is_same_array(inputs_[i], array)) ++i;
  if (i == inputs_.size()) inputs_.push_back(array);
  if (has_full_shape) full_shapes_ |= std::uint64_t{1} << i;
  return {.kind = OperandSource::Kind::Input,
          .index = static_cast<std::uint8_t>(i)};
}

OperandSource FusedRequests::number(const Request& request, std::size_t place) {
  const Number number{request.compute, (request.integers >> place & 1) != 0,
                      request.values[place]};
  std::size_t i = 0;
  while (i < known_numbers_.size() && known_numbers_[i] != number) ++i;
  if (i == known_numbers_.size()) {
    known_numbers_.push_back(number);
    numbers_.push_back(number_of(request, place));
  }
  return {.kind = OperandSource::Kind::Number,
          .index = static_cast<std::uint8_t>(i)};
}

OperandSource FusedRequests::own_number(const Request& request,
                                        std::size_t place) {
  known_numbers_.emplace_back();
  numbers_.push_back(number_of(request, place));
  return {.kind = OperandSource::Kind::Number};
}

std::vector<std::shared_ptr<const ProgramFunction>> FusedRequests::held()
    const {
  std::vector<std::shared_ptr<const ProgramFunction>> all;
  if (!is_whole()) return all;
  for (const Step& step : steps_)
    all.push_back(static_cast<const ProgramFunction*>(step.request->function)
                      ->shared_from_this());
  return all;
}

std::uint16_t FusedRequests::add(const Request& request,
                                 std::span<const OperandSource> links) {
  const auto value = static_cast<std::uint16_t>(steps_.size());
  Step& step = steps_.emplace_back();
  step.request = &request;
  count_literals(request);
  const auto byte = [](auto field, int place) {
    return static_cast<std::uint64_t>(field) << 8 * place;
  };
  words_.push_back(reinterpret_cast<std::uintptr_t>(request.function));
  words_.push_back(byte(request.operands, 0) | byte(request.compute, 1) |
                   byte(request.out_dtype, 2) | byte(request.axes, 3));
  // Three links fill a word. Few requests have four.
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < links.size(); ++i) {
    step.links[i] = links[i];
    if (i == 3) words_.push_back(std::exchange(word, 0));
    word = word << 20 | links[i].bits();
  }
  words_.push_back(word);
  return value;
}

void FusedRequests::output(std::uint16_t value, const TensorView& array,
                           bool has_full_shape) {
  if (has_full_shape) framed_outputs_ |= std::uint64_t{1} << outputs_.size();
  output_values_.push_back(value);
  outputs_.push_back(array);
}

std::span<const std::uint64_t> FusedRequests::structure() {
  // Follows the steps, so the counts at the end distinguish both.
  for (const TensorView& view : inputs_)
    words_.push_back(static_cast<std::uint64_t>(view.dtype) << 8 | view.dims);
  for (const std::uint16_t value : output_values_) words_.push_back(value);
  words_.push_back(full_shapes_);
  words_.push_back(framed_outputs_);
  words_.push_back(inputs_.size() << 32 | outputs_.size());
  return words_;
}

Program FusedRequests::build() const {
  ProgramBuilder builder;
  Sources known;
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const TensorView& view = inputs_[i];
    const bool has_full_shape = (full_shapes_ >> i & 1) != 0;
    const bool is_like = has_full_shape && known.full_shapes.graph() != nullptr;
    const Value input = is_like
                            ? builder.input_like(known.full_shapes, view.dtype)
                            : builder.input(view.dtype, view.dims);
    known.inputs.push_back({input, has_full_shape});
    if (has_full_shape && !is_like) known.full_shapes = input;
  }
  if (!is_whole())
    for (const Number& number : known_numbers_)
      known.numbers.push_back({builder.scalar(number.dtype)});
  for (const Step& step : steps_)
    known.values.push_back(value_of(step, known, builder));
  for (std::size_t i = 0; i < output_values_.size(); ++i) {
    const Source& source = known.values[output_values_[i]];
    const bool has_full_shape = (framed_outputs_ >> i & 1) != 0;
    builder.output(has_full_shape ? with_shape(source, known.full_shapes)
                                  : source.value);
  }
  return builder.build();
}

bool ProgramCache::Equal::operator()(const View& a,
                                     const Key& b) const noexcept {
  return std::ranges::equal(a.words, b.words);
}

Program& ProgramCache::find(FusedRequests& fused) {
  const auto words = fused.structure();
  // Parts of one level are often alike.
  if (last_ != nullptr && std::ranges::equal(words, last_->first.words))
    return last_->second.program;
  const View view{words, hash_of(words)};
  auto at = programs_.find(view);
  if (at == programs_.end()) {
    Key key{{words.begin(), words.end()}, view.hash};
    Known known{build(fused), fused.held()};
    if (programs_.size() == kMaxPrograms) programs_.clear();
    at = programs_.emplace(std::move(key), std::move(known)).first;
  }
  last_ = &*at;
  return at->second.program;
}

Program ProgramCache::build(const FusedRequests& fused) {
  try {
    Program program = fused.build();
    ++built_;
    return program;
  } catch (const InvalidArgument&) {
    // A single request reports its own error.
    if (fused.steps().size() == 1) throw;
    return {};
  }
}

}  // namespace gpuos::requests
