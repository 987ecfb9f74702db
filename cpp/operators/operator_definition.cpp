#include "operators/operator_definition.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/c_text.h"
#include "base/concat.h"
#include "base/config.h"
#include "device/task_abi.h"
#include "gpuos/error.h"

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

/// Holds the places of `name = task.pointer<...>(...)` in a source.
struct PointerUse {
  std::size_t name = 0;  // where the name begins
  std::string_view text{};
  std::optional<std::size_t> type{};  // where the declaration `T* name` begins
  std::optional<std::size_t> argument{};
};

/// Finds the uses of pointers among the tokens of a source.
class Uses {
 public:
  explicit Uses(std::string_view source) : source_(source) {
    CScanner scanner(source);
    for (CToken token = scanner.next(); token.kind != CTokenKind::End;
         token = scanner.next())
      tokens_.push_back(token);
  }

  std::vector<PointerUse> find() const {
    std::vector<PointerUse> uses;
    for (std::size_t i = 2; i < tokens_.size(); ++i) {
      if (const auto use = use_at(i)) uses.push_back(*use);
    }
    return uses;
  }

 private:
  bool is(std::size_t i, std::string_view text) const {
    return i < tokens_.size() && tokens_[i].is(text);
  }
  bool is_one_of(std::size_t i, std::span<const std::string_view> texts) const {
    return std::ranges::find(texts, tokens_[i].text) != texts.end();
  }
  std::size_t place_of(std::size_t i) const {
    return static_cast<std::size_t>(tokens_[i].text.data() - source_.data());
  }

  /// Returns the token after the one that closes the bracket at `i`. Returns
  /// nothing if no token does.
  std::optional<std::size_t> after(std::size_t i, char open, char close) const {
    for (std::ptrdiff_t depth = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].kind != CTokenKind::Punctuator || is(i, "->")) continue;
      depth += std::ranges::count(tokens_[i].text, open) -
               std::ranges::count(tokens_[i].text, close);
      if (depth <= 0) return i + 1;
    }
    return std::nullopt;
  }

  std::optional<PointerUse> use_at(std::size_t task) const {
    if (!is(task, "task") || !is(task + 1, ".") || !is(task + 2, "pointer") ||
        !is(task + 3, "<") || !is(task - 1, "=") ||
        !tokens_[task - 2].is_identifier())
      return std::nullopt;
    const auto open = after(task + 3, '<', '>');
    const auto end = open && is(*open, "(") ? after(*open, '(', ')') : open;
    if (!end || *end == *open) return std::nullopt;
    PointerUse use{.name = place_of(task - 2), .text = tokens_[task - 2].text};
    const std::string_view number = tokens_[*open + 1].text;
    if (number.size() < 3 && std::ranges::all_of(number, is_digit))
      use.argument = std::stoul(std::string(number));
    std::size_t star = task - 3;
    constexpr auto kQualifiers = std::to_array<std::string_view>(
        {"const", "__restrict__", "__restrict"});
    while (star < task && is_one_of(star, kQualifiers)) --star;
    if (star < task && is(star, "*") && ends_alone(*end))
      use.type = type_before(star);
    return use;
  }

  /// Returns where the type of a declaration begins whose `*` is at `star`.
  /// Returns nothing if the text there is no declaration.
  std::optional<std::size_t> type_before(std::size_t star) const {
    std::size_t begin = star;
    std::ptrdiff_t depth = 0;
    for (; begin > 0; --begin) {
      const CToken& token = tokens_[begin - 1];
      depth += std::ranges::count(token.text, '>') -
               std::ranges::count(token.text, '<');
      const bool is_part =
          token.is_identifier() || token.kind == CTokenKind::Number ||
          token.is("::") || token.is("*") || (token.is(",") && depth > 0) ||
          token.text.find_first_not_of("<>") == token.text.npos;
      if (!is_part) break;
    }
    constexpr auto kBefore =
        std::to_array<std::string_view>({";", ":", "{", "}", "(", ")"});
    constexpr auto kOthers =
        std::to_array<std::string_view>({"return", "static", "else"});
    if (begin == star || !tokens_[begin].is_identifier() ||
        is_one_of(begin, kOthers) ||
        (begin > 0 && tokens_[begin - 1].kind != CTokenKind::Directive &&
         !is_one_of(begin - 1, kBefore)))
      return std::nullopt;
    return place_of(begin);
  }

  /// Returns whether the text at `i` ends one declaration of one name.
  bool ends_alone(std::size_t i) const {
    int depth = 0;
    for (; i < tokens_.size(); ++i) {
      if (is(i, "(") || is(i, "[") || is(i, "{")) ++depth;
      if (is(i, ")") || is(i, "]") || is(i, "}")) --depth;
      if (depth < 0) return false;
      if (depth > 0) continue;
      if (is(i, ",") || is(i, "?")) return false;
      if (is(i, ";") || tokens_[i].kind == CTokenKind::Directive) return true;
    }
    return false;
  }

  std::string_view source_;
  std::vector<CToken> tokens_;
};

/// Returns the numbers of the dtypes, each after a comma.
std::string param_types(const OperatorDefinition& definition) {
  std::string text;
  for (const Parameter& param : definition.params)
    text += concat(", ", static_cast<unsigned>(param.dtype));
  return text;
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

CheckedSource checked_source(const OperatorDefinition& definition) {
  CheckedSource made;
  const int inputs = inputs_of(definition);
  const std::size_t words =
      checked_words(inputs, definition.params.size(), definition.elementwise);
  const int buffers = inputs < 0 ? 0 : 1 + inputs;
  made.prelude = concat(
      "#define GPUOS_CHECKED 1\n#include \"gpuos/checked.h\"\n"
      "#undef GPUOS_OPERATOR\n"
      "#define GPUOS_OPERATOR(name) GPUOS_CHECKED_OPERATOR(name)\n"
      "#undef GPUOS_CHECKED_TABLE\n#define GPUOS_CHECKED_TABLE Table<",
      words, ", ", definition.elementwise ? "true" : "false", ", ", buffers,
      ", ", static_cast<unsigned>(dtype_of(definition)),
      param_types(definition), ">\n");
  made.text = definition.source;
  const std::vector<PointerUse> uses = Uses(definition.source).find();
  // The loop goes from the last use to the first, so that earlier places stay
  // right.
  for (auto use = uses.rbegin(); use != uses.rend(); ++use) {
    if (!use->type) continue;
    const std::string type =
        made.text.substr(*use->type, use->name - *use->type);
    const auto lines = static_cast<std::size_t>(std::ranges::count(type, '\n'));
    made.text.replace(*use->type, type.size(),
                      concat("auto ", std::string(lines, '\n')));
  }
  return made;
}

std::shared_ptr<const CheckedOperator> checked_operator(
    const OperatorDefinition& definition) {
  auto made = std::make_shared<CheckedOperator>();
  made->name = definition.name;
  made->dtype = dtype_of(definition);
  made->params = definition.params;
  for (const PointerUse& use : Uses(definition.source).find()) {
    if (!use.argument || *use.argument >= abi::kMaxArgs) continue;
    if (made->names.size() <= *use.argument)
      made->names.resize(*use.argument + 1);
    std::string& name = made->names[*use.argument];
    if (name.empty()) name = use.text;
  }
  return made;
}

}  // namespace gpuos
