#include "operators/operator_definition.h"

#include <algorithm>

#include "base/c_text.h"
#include "base/concat.h"
#include "base/config.h"
#include "device/task_abi.h"
#include "gpuos/error.h"
#include "operators/checked_source.h"

namespace gpuos {

namespace {

void check_dtype(const OperatorDefinition& definition, DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  if (index >= kDTypeCount)
    throw InvalidArgument(concat(definition.name, ": expected a dtype below ",
                                 kDTypeCount, ", got ", index));
}

void check_input_names(const OperatorDefinition& definition) {
  const std::vector<std::string>& names = definition.input_names;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (!is_identifier(*name))
      throw InvalidArgument(
          concat(definition.name,
                 ": expected an input's name of letters, digits and '_', got '",
                 *name, "'"));
    const bool is_parameter =
        std::ranges::find(definition.params, *name, &Parameter::name) !=
        definition.params.end();
    if (is_parameter || std::find(names.begin(), name, *name) != name)
      throw InvalidArgument(concat(definition.name,
                                   ": expected different names, got '", *name,
                                   "' twice"));
  }
  if (!names.empty() && definition.inputs >= 0 &&
      static_cast<std::size_t>(definition.inputs) != names.size())
    throw InvalidArgument(concat(definition.name, ": expected ",
                                 definition.inputs, " names of inputs, got ",
                                 names.size()));
}

void check_params(const OperatorDefinition& definition) {
  bool has_default = false;
  for (const Parameter& param : definition.params) {
    check_dtype(definition, param.dtype);
    // A task has one word for each parameter.
    if (size_of(param.dtype) > 8 && definition.expression.empty())
      throw InvalidArgument(
          concat(definition.name, ": ", param.name,
                 ": expected a parameter of at most 8 bytes for a source, got ",
                 name_of(param.dtype), "; take two of float64"));
    if (!param.default_value && has_default)
      throw InvalidArgument(
          concat(definition.name, ": ", param.name,
                 ": expected a default value, as those before it have one"));
    has_default = param.default_value.has_value();
    if (!has_default) continue;
    try {
      static_cast<void>(param.default_value->bits_as(param.dtype));
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(concat(definition.name, ": ", param.name,
                                   ": default value: ", error.what()));
    }
  }
}

/// Checks that the definition has exactly one text or object that computes the
/// result.
void check_one_text(const OperatorDefinition& definition) {
  const bool has_object = definition.object.has_value();
  const int given = int{!definition.expression.empty()} +
                    int{!definition.source.empty()} + int{has_object};
  if (given == 1) return;
  throw InvalidArgument(
      concat(definition.name, ": expected either an expression or a source, ",
             has_object ? "or an object (ptx, ltoir, cubin), got more than one"
             : given == 0 ? "got neither"
                          : "got both"));
}

}  // namespace

int inputs_of(const OperatorDefinition& definition) noexcept {
  const std::vector<std::string>& names = definition.input_names;
  return names.empty() ? definition.inputs : static_cast<int>(names.size());
}

void check_name(std::string_view name) {
  if (!is_identifier(name))
    throw InvalidArgument(
        concat("define: expected a name of letters, digits and '_', got '",
               name, "'"));
}

void check_definition(const OperatorDefinition& definition) {
  check_name(definition.name);
  check_one_text(definition);
  if (definition.source.find('\0') != std::string::npos)
    throw InvalidArgument(concat(definition.name,
                                 ": expected a source without NUL, got one at ",
                                 definition.source.find('\0')));
  for (const DType dtype : definition.dtypes) check_dtype(definition, dtype);
  check_params(definition);
  if (definition.expression.empty() && definition.dtypes.size() > 1)
    throw InvalidArgument(concat(definition.name,
                                 ": expected 1 dtype of a whole operator, got ",
                                 definition.dtypes.size()));
  if (definition.tiered && definition.source.empty())
    throw InvalidArgument(
        concat(definition.name, ": tiered: expected a source, got ",
               definition.object ? "an object, which is compiled already"
                                 : "an expression"));
  if (definition.checked.value_or(false) && definition.source.empty())
    throw InvalidArgument(concat(
        definition.name, ": checked: expected a source, got ",
        definition.object ? "an object, whose accesses cannot be checked"
                          : "an expression, which touches only its arguments"));
  check_input_names(definition);
  const int inputs = inputs_of(definition);
  const std::size_t args = 1 + definition.params.size() +
                           static_cast<std::size_t>(std::max(0, inputs));
  if (args > abi::kMaxArgs)
    throw InvalidArgument(concat(definition.name, ": expected at most ",
                                 abi::kMaxArgs, " arguments, got ", args));
  if (!is_checked(definition)) return;
  const std::size_t words =
      checked_words(inputs, definition.params.size(), definition.elementwise);
  // An operator for any number of buffers needs a place for one buffer after
  // the scalars.
  if (words > abi::kMaxArgs ||
      most_checked_buffers(definition.params.size(), definition.elementwise) ==
          0)
    throw InvalidArgument(
        concat(definition.name, ": checked: expected at most ", abi::kMaxArgs,
               " words, got ", words, ": one each for ", args, " arguments, ",
               definition.elementwise ? "" : "another one for each array, ",
               "and one"));
}

bool is_checked(const OperatorDefinition& definition) {
  if (definition.source.empty()) return false;
  if (definition.checked) return *definition.checked;
  const std::string& said = config().checked;
  if (said.empty() || said == "0") return false;
  if (said == "1") return true;
  throw InvalidArgument(
      concat("define: expected GPUOS_CHECKED to be 0 or 1, got '", said, "'"));
}

DType dtype_of(const OperatorDefinition& definition) noexcept {
  return definition.dtypes.empty() ? DType::Float32 : definition.dtypes[0];
}

std::shared_ptr<OperatorRecord> record_of(
    const OperatorDefinition& definition) {
  auto record = std::make_shared<OperatorRecord>();
  record->name = definition.name;
  record->params = definition.params;
  record->is_traced = true;
  record->elementwise = definition.elementwise;
  record->inputs = inputs_of(definition);
  record->input_names = definition.input_names;
  if (is_checked(definition)) record->set_checked(checked_operator(definition));
  return record;
}

}  // namespace gpuos
