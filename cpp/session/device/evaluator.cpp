#include "session/device/evaluator.h"

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <sstream>

#include "base/concat.h"
#include "jit/objects/object_symbols.h"
#include "jit/symbols.h"
#include "session/cells/tokens.h"

namespace gpuos::session {
namespace {

std::string value_name(std::size_t i) { return concat("gpuos_value_", i); }

template <typename T>
T read_as(const KernelArg& arg) {
  T value;
  std::memcpy(&value, arg.data(), sizeof(T));
  return value;
}

std::optional<Scalar> number_of(const KernelArg& arg) {
  if (arg.kind == KernelArg::Kind::Number) {
    if (arg.number.is_complex()) return std::nullopt;
    return arg.number;
  }
  if (arg.type == "bool") return Scalar(read_as<bool>(arg));
  if (arg.type == "int8") return Scalar(read_as<std::int8_t>(arg));
  if (arg.type == "int16") return Scalar(read_as<std::int16_t>(arg));
  if (arg.type == "int32") return Scalar(read_as<std::int32_t>(arg));
  if (arg.type == "int64") return Scalar(read_as<std::int64_t>(arg));
  if (arg.type == "uint8") return Scalar(read_as<std::uint8_t>(arg));
  if (arg.type == "uint16") return Scalar(read_as<std::uint16_t>(arg));
  if (arg.type == "uint32") return Scalar(read_as<std::uint32_t>(arg));
  if (arg.type == "float32") return Scalar(read_as<float>(arg));
  if (arg.type == "float64") return Scalar(read_as<double>(arg));
  return std::nullopt;
}

// Returns "constexpr int n = 1000;" for a bound number that an expression
// names.
std::string constant(const std::string& name, const Scalar& number) {
  std::ostringstream text;
  if (!number.is_integer()) {
    text.precision(std::numeric_limits<double>::max_digits10);
    text << std::scientific << number.real();
    return concat("constexpr double ", name, " = ", text.str(), ";\n");
  }
  const std::int64_t value = number.integer();
  if (number.is_above_int64())
    return concat("constexpr unsigned long long ", name, " = ",
                  static_cast<std::uint64_t>(value), "ull;\n");
  const bool is_int = value >= std::numeric_limits<std::int32_t>::min() &&
                      value <= std::numeric_limits<std::int32_t>::max();
  // The least integer has no literal.
  return concat("constexpr ", is_int ? "int " : "long long ", name, " = ",
                value == std::numeric_limits<std::int64_t>::min()
                    ? "-9223372036854775807ll - 1"
                    : concat(value, is_int ? "" : "ll"),
                ";\n");
}

// Returns the values of the names in an object. The file does not contain
// zeros.
std::vector<std::string> values_of(const std::string& cubin,
                                   std::size_t count) {
  std::vector<std::string> values(count);
  for (const jit::ObjectSymbol& symbol : jit::object_symbols(cubin).defined) {
    for (std::size_t i = 0; i < count; ++i) {
      if (symbol.name != value_name(i)) continue;
      const auto at = jit::value_offset(cubin, symbol.name);
      values[i] = at ? cubin.substr(*at, symbol.bytes)
                     : std::string(symbol.bytes, '\0');
    }
  }
  return values;
}

}  // namespace

std::optional<Scalar> literal(const std::string& text) {
  if (text == "true") return Scalar(true);
  if (text == "false") return Scalar(false);
  std::string digits;
  for (const char c : text) {
    if (c != '\'' && c != ' ') digits += c;
  }
  const bool is_hex = digits.find("0x") != digits.npos;
  const bool is_real = !is_hex && digits.find_first_of(".eE") != digits.npos;
  // Only the compiler reads an octal or a binary number, a character or a
  // hexadecimal real.
  if (digits.empty() || is_hex ||
      (digits.size() > 1 && digits[0] == '0' && !is_real))
    return std::nullopt;
  const char* const end = digits.data() + digits.size();
  if (is_real) {
    char* behind = nullptr;
    const double value = std::strtod(digits.c_str(), &behind);
    const std::string_view suffix(behind);
    if (behind == digits.c_str() ||
        !(suffix.empty() || suffix == "f" || suffix == "F"))
      return std::nullopt;
    return Scalar(value);
  }
  std::int64_t value = 0;
  const auto result = std::from_chars(digits.data(), end, value);
  if (result.ec != std::errc() ||
      std::string_view(result.ptr).find_first_not_of("uUlL") !=
          std::string_view::npos)
    return std::nullopt;
  return Scalar(value);
}

std::vector<std::string> Evaluator::evaluate(
    std::span<const Question> questions, const std::string& cell,
    const std::map<std::string, KernelArg, std::less<>>& bound) {
  if (questions.empty()) return {};
  std::set<std::string> names;
  for (const Question& question : questions)
    names.merge(identifiers_of(question.expression.text + " " + question.type));
  std::string code = header_.select(names, nullptr).text;
  for (const std::string& name : names) {
    const auto found = bound.find(name);
    if (found == bound.end()) continue;
    if (const auto number = number_of(found->second))
      code += constant(name, *number);
  }
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Question& question = questions[i];
    Item place;
    place.line = question.expression.line;
    place.column = question.expression.column;
    code += concat("extern \"C\" __device__ ",
                   question.type.empty() ? "auto" : question.type, " ",
                   value_name(i), " = (\n");
    code += placed(question.expression.text, place, cell) + ");\n";
  }
  const auto known = known_.find(code);
  if (known != known_.end()) return known->second;
  const Source source{code, cell};
  const std::string cubin = compiler_.compile({&source, 1}).front().binary;
  if (known_.size() >= kMost) known_.clear();
  return known_[code] = values_of(cubin, questions.size());
}

std::string VariableTypes::find(const Definition& variable) {
  const std::string name = variable.qualified_name();
  const std::string asked = jit::type_question(name);
  // The key has the name too, because two variables may have equal headers.
  const Source source{
      header_.select(identifiers_of(name), nullptr).text + jit::kTypeSpeller,
      variable.cell,
      {asked}};
  const std::string key = asked + source.text;
  if (const auto known = known_.find(key); known != known_.end())
    return known->second;
  const jit::Object object = compiler_.compile({&source, 1}).front();
  if (known_.size() >= kMost) known_.clear();
  std::string type = jit::type_answer(object.symbols, name);
  // A __constant__ variable is const for kernels only.
  constexpr std::string_view kConst = " const";
  const std::size_t at = type.rfind(kConst);
  if (variable.item.is_constant && at != type.npos)
    type.erase(at, kConst.size());
  return known_[key] = type;
}

}  // namespace gpuos::session
