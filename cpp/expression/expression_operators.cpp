#include "expression/expression_operators.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/concat.h"
#include "expression/tree.h"
#include "gpuos/error.h"
#include "queue/operator_record.h"

namespace gpuos {
namespace {

using expression::Body;

/// Parses the expression. If the definition names inputs, the expression has
/// exactly these, in this order.
Expression parse_named(const OperatorDefinition& definition) {
  const std::vector<std::string>& names = definition.input_names;
  Expression parsed =
      parse_expression(definition.expression, definition.params, names);
  if (names.empty() || parsed.inputs.size() == names.size()) return parsed;
  std::string known;
  for (const std::string& name : names) known += concat(" ", name);
  throw InvalidArgument(concat(definition.name, ": expected no inputs except",
                               known, ", got '", parsed.inputs[names.size()],
                               "'"));
}

bool uses_only(const Expression& expression,
               const std::vector<std::string>& names) {
  return std::ranges::all_of(expression.inputs, [&](const std::string& input) {
    return std::ranges::find(names, input) != names.end();
  });
}

// Callers pass arrays by place or by the operator's names. An input that moves
// to another place would therefore get another array.
void check_places(const OperatorDefinition& definition,
                  const std::vector<std::string>& inputs,
                  const std::vector<std::string>& replaced) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto place = std::ranges::find(replaced, inputs[i]);
    if (place == replaced.end() || place == replaced.begin() + i) continue;
    std::string known;
    for (const std::string& name : replaced) known += concat(" ", name);
    throw InvalidArgument(concat(definition.name, ": expected the inputs",
                                 known, " in this order, got '", inputs[i],
                                 "' as number ", i + 1));
  }
}

// Checks, without arrays, an elementwise expression whose arrays all have one
// dtype. Throws: InvalidArgument.
void check_dtypes(const Body& body, std::span<const DType> dtypes) {
  if (!body.expression().tree->reduced.empty()) return;
  for (const DType dtype : dtypes) {
    TensorView any;
    any.dtype = dtype;
    const std::vector<TensorView> inputs(body.expression().inputs.size(), any);
    body.plan_for(inputs, any);
  }
}

std::shared_ptr<OperatorRecord> record_for(const OperatorDefinition& definition,
                                           Expression parsed) {
  auto body = std::make_shared<Body>(std::move(parsed), definition.dtypes);
  const Expression& expression = body->expression();
  const std::size_t inputs = expression.inputs.size();
  if (definition.inputs >= 0 &&
      static_cast<std::size_t>(definition.inputs) != inputs)
    throw InvalidArgument(concat(definition.name, ": expected ",
                                 definition.inputs, " inputs, got ", inputs,
                                 " in the expression"));
  check_dtypes(*body, definition.dtypes);
  auto record = std::make_shared<OperatorRecord>();
  record->name = definition.name;
  record->params = definition.params;
  record->input_names = expression.inputs;
  record->inputs = static_cast<int>(inputs);
  record->set_body(std::move(body));
  return record;
}

// Throws a program's error with the operator's name.
[[noreturn]] void refuse(const OperatorRecord& op,
                         const InvalidArgument& error) {
  std::string text = error.what();
  const auto replace = [&](std::string_view from, std::string_view to) {
    if (const std::size_t at = text.find(from); at != text.npos)
      text.replace(at, from.size(), to);
  };
  replace("program: ", "");
  replace("output 0", "out");
  text = concat(op.name, ": ", text);
  if (dynamic_cast<const OutOfRange*>(&error) != nullptr)
    throw OutOfRange(text);
  throw InvalidArgument(text);
}

/// Holds a call of a body. All arguments except its arrays are checked. Throws:
/// InvalidArgument.
struct BodyCall {
  BodyCall(const Body& body, std::span<const TensorView> given,
           const TensorView& out, std::span<const Scalar> params)
      : inputs(given), scalars(params) {
    const auto& [output, names, declared, tree] = body.expression();
    if (given.size() != names.size())
      throw InvalidArgument(
          concat("expected ", names.size(), " inputs, got ", given.size()));
    if (params.size() != declared.size()) {
      filled = with_defaults(declared, params);
      if (!filled)
        throw InvalidArgument(concat("expected ", declared.size(),
                                     " scalars, got ", params.size()));
      scalars = *filled;
    }
    for (std::size_t i = 0; i < scalars.size(); ++i)
      static_cast<void>(scalars[i].bits_as(declared[i].dtype));
    plan = &body.plan_for(given, out);
    if (given.empty()) inputs = {&out, 1};
  }

  std::span<const TensorView> inputs;  // inputs of the program
  std::span<const Scalar> scalars;     // scalars of the program
  std::optional<std::vector<Scalar>> filled;
  const std::shared_ptr<const program::Plan>* plan = nullptr;
};

std::uint16_t word_of(const TensorView& view) noexcept {
  return static_cast<std::uint16_t>(static_cast<unsigned>(view.dtype) |
                                    static_cast<unsigned>(view.dims) << 8);
}

}  // namespace

namespace expression {

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

}  // namespace expression

std::string Operator::expression() const {
  static_cast<void>(name());  // of an empty handle it throws
  const auto body = record_->resolved().body.load();
  return body == nullptr ? std::string() : body->expression().tree->text;
}

bool Operator::reduces() const {
  static_cast<void>(name());  // of an empty handle it throws
  const auto body = record_->resolved().body.load();
  return body != nullptr && !body->expression().tree->reduced.empty();
}

std::shared_ptr<OperatorRecord> ExpressionOperators::record_of(
    const OperatorDefinition& definition) {
  return record_for(definition, parse_named(definition));
}

std::shared_ptr<OperatorRecord> ExpressionOperators::record_of(
    const OperatorDefinition& definition, const OperatorRecord& replaced) {
  Expression parsed = parse_named(definition);
  if (definition.input_names.empty() && uses_only(parsed, replaced.input_names))
    parsed = parse_expression(definition.expression, definition.params,
                              replaced.input_names);
  check_places(definition, parsed.inputs, replaced.input_names);
  return record_for(definition, std::move(parsed));
}

Ticket ExpressionOperators::submit(const OperatorRecord& op, const Body& body,
                                   std::span<const TensorView> inputs,
                                   const TensorView& out,
                                   std::span<const Scalar> params,
                                   const Stream& stream,
                                   const ProgramTable::Allocate& allocate) {
  try {
    const BodyCall call(body, inputs, out, params);
    return programs_.submit(*call.plan, {call.inputs, {&out, 1}}, call.scalars,
                            stream, allocate);
  } catch (const InvalidArgument& error) {
    refuse(op, error);
  }
}

bool ExpressionOperators::try_submit(const OperatorRecord& op, const Body& body,
                                     std::span<const TensorView> inputs,
                                     const TensorView& out,
                                     std::span<const Scalar> params,
                                     const Stream& stream, Ticket& ticket) {
  try {
    const BodyCall call(body, inputs, out, params);
    return programs_.try_submit(*call.plan, {call.inputs, {&out, 1}},
                                call.scalars, stream, ticket);
  } catch (const InvalidArgument& error) {
    refuse(op, error);
  }
}

Ticket ExpressionOperators::submit_many(const OperatorRecord& op,
                                        const Body& body, const ManyTasks& many,
                                        const Stream& stream) {
  try {
    TensorView any;
    any.dtype = many.dtype;
    const std::vector<TensorView> inputs(many.inputs.size(), any);
    const BodyCall call(body, inputs, any, many.params);
    if (!call.filled) return programs_.submit_many(*call.plan, many, stream);
    ManyTasks all = many;
    all.params = *call.filled;
    return programs_.submit_many(*call.plan, all, stream);
  } catch (const InvalidArgument& error) {
    refuse(op, error);
  }
}

}  // namespace gpuos
