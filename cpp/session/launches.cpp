#include "session/launches.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/symbols.h"

namespace gpuos::session {
namespace {

// Limits the depth of functions that call functions that launch. A function
// that calls itself reaches the limit.
constexpr int kDeepest = 16;

[[noreturn]] void fail(const std::string& cell, const LaunchExpression& at,
                       const std::string& what) {
  throw InvalidArgument(concat(cell, ":", at.line, ":", at.column, ": ", what));
}

bool is_name(std::string_view text) {
  if (text.empty()) return false;
  const CellText cell{"", std::string(text)};
  for (const Token& token : tokenize(cell)) {
    if (!token.is_identifier() && !token.is("::")) return false;
  }
  return true;
}

void add(KernelArgs& args, const KernelArg& value) {
  if (value.kind == KernelArg::Kind::Number) {
    args.add(value.number);
  } else {
    args.add_bytes(value.data(), value.bytes, value.type, value.kind);
  }
}

template <typename T>
T from_bytes(const std::string& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), std::min(sizeof(T), bytes.size()));
  return value;
}

// Returns a stream's handle. A stream is a pointer, or an integer from Python.
void* handle_of(const KernelArg& value) {
  std::uintptr_t handle = 0;
  if (value.kind == KernelArg::Kind::Number) {
    handle = static_cast<std::uintptr_t>(value.number.integer());
  } else {
    std::memcpy(&handle, value.data(), std::min(value.bytes, sizeof handle));
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(handle);
}

constexpr const char* kPointer = "const ::gpuos_host::DevicePointer";

// Returns the type in host code, or an empty text for a type that host code
// cannot have.
std::string type_of(const KernelArg& value) {
  static const std::map<std::string, std::string> types{
      {"bool", "bool"},
      {"int8", "signed char"},
      {"int16", "short"},
      {"int32", "int"},
      {"int64", "long long"},
      {"uint8", "unsigned char"},
      {"uint16", "unsigned short"},
      {"uint32", "unsigned int"},
      {"uint64", "unsigned long long"},
      {"float32", "float"},
      {"float64", "double"}};
  if (value.kind == KernelArg::Kind::Pointer) return kPointer;
  if (value.kind == KernelArg::Kind::Number) {
    const Scalar& number = value.number;
    if (number.is_complex()) return "";
    if (!number.is_integer()) return "const double";
    if (number.is_above_int64()) return "const unsigned long long";
    const std::int64_t integer = number.integer();
    const bool is_int = integer >= std::numeric_limits<int>::min() &&
                        integer <= std::numeric_limits<int>::max();
    return is_int ? "const int" : "const long long";
  }
  const auto found = types.find(value.type);
  return found == types.end() ? "" : "const " + found->second;
}

template <typename T, typename Bytes>
void store(T value, Bytes& bytes) {
  std::memcpy(bytes.data(), &value, sizeof value);
}

template <typename Bytes>
void write_value(const KernelArg& value, const std::string& type,
                 Bytes& bytes) {
  if (value.kind != KernelArg::Kind::Number) {
    std::memcpy(bytes.data(), value.data(),
                std::min(bytes.size(), value.bytes));
  } else if (type == "const double") {
    store(value.number.real(), bytes);
  } else if (type == "const int") {
    store(static_cast<int>(value.number.integer()), bytes);
  } else {
    store(value.number.integer(), bytes);
  }
}

// A place of long long or double can hold an int too.
bool fits(const std::string& type, const std::string& place) {
  return type == place || (type == "const int" && place == "const long long") ||
         (type == "const int" && place == "const double");
}

}  // namespace

std::vector<LinkedLaunch> Launches::link(const std::vector<Item>& statements,
                                         const std::string& cell) {
  std::vector<LinkedLaunch> launches;
  add_links(statements, cell, 0, launches);
  return launches;
}

void Launches::add_links(const std::vector<Item>& statements,
                         const std::string& cell, int depth,
                         std::vector<LinkedLaunch>& launches) {
  for (const Item& item : statements) {
    if (item.kind == ItemKind::Launch) {
      LinkedLaunch launch{parse_launch(item, cell), cell, nullptr};
      launch.linked =
          workspace_.linker().link(workspace_.kernel(launch.statement.kernel));
      launches.push_back(std::move(launch));
      continue;
    }
    const LaunchFunction* called = workspace_.find_launches(item.name);
    if (called == nullptr || depth == kDeepest)
      throw InvalidArgument(concat(
          cell, ":", item.line, ":", item.column, ": expected ", item.name,
          " to be a function that launches kernels, got ",
          called == nullptr ? "none of that name" : "one that calls itself"));
    add_links(called->statements, called->cell, depth + 1, launches);
  }
}

bool Launches::run(const LinkedLaunch& launch) {
  const auto kernel = device_.load(launch.linked, workspace_.linker());
  const LaunchConfig config = make_config(launch);
  kernel->launch(config, make_arguments(launch));
  return !config.stream.is_named;
}

bool Launches::run(const DefinitionPtr& kernel, const LaunchConfig& config,
                   const KernelArgs& args) {
  Linker& linker = workspace_.linker();
  device_.load(linker.link(kernel), linker)->launch(config, args);
  return !config.stream.is_named;
}

LaunchConfig Launches::make_config(const LinkedLaunch& launch) {
  const auto& given = launch.statement.config;
  std::vector<Question> questions{{given[0], "dim3"}, {given[1], "dim3"}};
  if (given.size() > 2) questions.push_back({given[2], "unsigned int"});
  LaunchConfig config;
  const bool is_plain = std::ranges::all_of(questions, [](const Question& q) {
    const auto number = literal(q.expression.text);
    return number && number->is_integer();
  });
  const auto values =
      is_plain ? std::vector<std::string>(questions.size())
               : evaluator_.evaluate(questions, launch.cell, bindings_.values);
  const auto number = [&](std::size_t i) {
    return static_cast<std::uint32_t>(literal(given[i].text)->integer());
  };
  config.grid = is_plain ? Dim3(number(0)) : from_bytes<Dim3>(values[0]);
  config.block = is_plain ? Dim3(number(1)) : from_bytes<Dim3>(values[1]);
  if (given.size() > 2)
    config.shared_bytes =
        is_plain ? number(2) : from_bytes<std::uint32_t>(values[2]);
  if (given.size() > 3 && given[3].text != "0") {
    const auto found = bindings_.values.find(given[3].text);
    if (found == bindings_.values.end())
      fail(launch.cell, given[3],
           concat("expected the name of a bound stream, got ", given[3].text));
    config.stream = Stream(handle_of(found->second));
  }
  return config;
}

KernelArgs Launches::make_arguments(const LinkedLaunch& launch) {
  const auto types = jit::parameter_types(launch.linked->root->symbol);
  KernelArgs args;
  for (std::size_t i = 0; i < launch.statement.arguments.size(); ++i) {
    const LaunchExpression& expression = launch.statement.arguments[i];
    if (add_argument(expression, launch.cell, args)) continue;
    const bool knows_type =
        types && i < types->size() && !(*types)[i].ends_with('*');
    const Question question{expression, knows_type ? (*types)[i] : ""};
    const std::string bytes =
        evaluator_.evaluate({&question, 1}, launch.cell, bindings_.values)
            .front();
    args.add_bytes(bytes.data(), bytes.size(), "value");
  }
  return args;
}

bool Launches::add_argument(const LaunchExpression& expression,
                            const std::string& cell, KernelArgs& args) {
  std::string text = expression.text;
  if (text == "nullptr") {
    args.add(static_cast<void*>(nullptr));
    return true;
  }
  if (const auto number = literal(text)) {
    args.add(*number);
    return true;
  }
  if (text.starts_with('-')) {
    if (const auto number = literal(text.substr(1))) {
      args.add(number->is_integer() ? Scalar(-number->integer())
                                    : Scalar(-number->real()));
      return true;
    }
  }
  const bool is_address = text.starts_with('&');
  if (is_address) text.erase(0, text.find_first_not_of("& \t\n"));
  if (!is_name(text)) {
    if (is_address)
      fail(cell, expression,
           concat("expected the name of a variable after '&', got '", text,
                  "'"));
    return false;
  }
  const auto bound = bindings_.values.find(text);
  if (bound != bindings_.values.end() && !is_address) {
    add(args, bound->second);
    return true;
  }
  if (add_variable(text, is_address, args)) return true;
  if (!is_address && !workspace_.header().find_named(text).empty())
    return false;
  if (!is_address && text.find("::") != text.npos) return false;
  fail(cell, expression,
       concat("expected a literal, a variable of the session or a bound name, "
              "got ",
              expression.text));
}

bool Launches::add_variable(std::string_view name, bool is_address,
                            KernelArgs& args) {
  const DefinitionPtr variable = workspace_.find_variable(name);
  if (variable == nullptr) return false;
  const cu::DeviceGlobal storage =
      device_.storage(variable, workspace_.linker());
  if (is_address || variable->item.is_array) {
    args.add_bytes(&storage.address, sizeof storage.address, "pointer",
                   KernelArg::Kind::Pointer);
    return true;
  }
  std::string value(storage.bytes, '\0');
  device_.read(storage, value.data());
  args.add_bytes(value.data(), value.size(), "value");
  return true;
}

std::optional<BoundName> BoundNames::find(const std::string& name) {
  const auto bound = bindings_.values.find(name);
  if (bound == bindings_.values.end()) return std::nullopt;
  const std::string type = type_of(bound->second);
  if (type.empty()) return std::nullopt;
  std::unique_ptr<Place>& place = places_[{name, type}];
  if (place == nullptr) place = std::make_unique<Place>();
  write_value(bound->second, type, place->bytes);
  return BoundName{
      concat("static ", type, "& ", name, " = ::gpuos_host::at<", type, ">(",
             reinterpret_cast<std::uintptr_t>(place.get()), "ull);")};
}

void BoundNames::refresh() {
  for (auto& [key, place] : places_) {
    const auto bound = bindings_.values.find(key.first);
    if (bound == bindings_.values.end()) continue;
    if (fits(type_of(bound->second), key.second))
      write_value(bound->second, key.second, place->bytes);
  }
}

}  // namespace gpuos::session
