#include "runtime/given_operator.h"

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/c_text.h"
#include "base/concat.h"
#include "gpuos/dtype.h"
#include "gpuos/error.h"
#include "gpuos/operator.h"
#include "jit/device_code.h"
#include "jit/given_object.h"
#include "operators/operator_definition.h"

namespace gpuos {
namespace {

/// The source that makes an operator of a function from another compiler.
struct ObjectSource {
  /// The declaration in C: "float f(float, float)".
  std::string declaration;
  /// The signature as linkers compare it: the result, then the parameters. 'v'
  /// is nothing, 'i' 4 bytes or less, 'l' 8 bytes.
  std::string signature;
  /// GPUOS_OPERATOR(name) { ... } that calls it.
  std::string source;
};

// A type of a parameter or a result.
struct Passed {
  std::string name;   // what users write
  std::string taken;  // what the declaration says that is compiled
  char code;
};

std::string_view c_name_of(DType dtype) {
  if (!is_short_float(dtype)) return cpp_name_of(dtype);
  return size_of(dtype) == 2 ? "unsigned short" : "unsigned char";
}

bool is_optimized_together(const OperatorDefinition& definition) {
  return definition.object->kind == DeviceObject::Kind::LtoIr;
}

// All compilers agree on numbers of 4 and 8 bytes. They differ in the upper
// bits of shorter numbers. LTO-IR compares types.
Passed passed(const OperatorDefinition& definition, DType dtype,
              bool is_parameter) {
  if (is_complex(dtype))
    throw InvalidArgument(
        concat(definition.name,
               ": expected a dtype that is a number of C, got ", name_of(dtype),
               is_parameter
                   ? " for a parameter"
                   : "; a function with elementwise=False takes its address"));
  if (is_short_float(dtype)) return {"float", "float", 'i'};
  const std::string name(cpp_name_of(dtype));
  if (size_of(dtype) == 8) return {name, name, 'l'};
  if (size_of(dtype) == 4 || is_optimized_together(definition))
    return {name, name, 'i'};
  return {name, is_signed(dtype) ? "int" : "unsigned int", 'i'};
}

// Only LTO-IR needs the type of the elements at an address.
Passed address(const OperatorDefinition& definition, const char* before) {
  const std::string name = concat(before, c_name_of(dtype_of(definition)), "*");
  return {name,
          is_optimized_together(definition) ? name : concat(before, "void*"),
          'l'};
}

// One function's text, while its parameters are added.
class Writer {
 public:
  explicit Writer(const OperatorDefinition& definition)
      : definition_(definition) {}

  void add(const Passed& type, const std::string& value) {
    add(type.name, type.taken, type.code,
        concat("static_cast<", type.taken, ">(", value, ")"));
  }

  void add_address(const char* before, std::size_t index) {
    const Passed type = address(definition_, before);
    add(type.name, type.taken, type.code,
        concat("static_cast<", type.taken, ">(task.pointer<void>(", index,
               "))"));
  }

  /// Adds the parameters, after `first` buffers.
  void add_scalars(std::size_t first) {
    for (const Parameter& param : definition_.params)
      add(passed(definition_, param.dtype, true),
          concat("task.scalar<", cpp_name_of(param.dtype), ">(", first++, ")"));
  }

  std::string named(std::string_view result, const std::string& symbol) const {
    return concat(result, " ", symbol, "(", names_, ")");
  }
  std::string declared(std::string_view result,
                       const std::string& symbol) const {
    return concat("extern \"C\" __device__ ", result, " ", symbol, "(", taken_,
                  ");\n");
  }
  std::string called(const std::string& symbol) const {
    return concat("::", symbol, "(", values_, ")");
  }
  const std::string& codes() const { return codes_; }

 private:
  void add(std::string_view name, std::string_view taken, char code,
           const std::string& value) {
    const std::string_view between = codes_.empty() ? "" : ", ";
    names_ += concat(between, name);
    taken_ += concat(between, taken);
    values_ += concat(between, value);
    codes_ += code;
  }

  const OperatorDefinition& definition_;
  std::string names_;
  std::string taken_;
  std::string values_;
  std::string codes_;
};

// A call costs more than its loads, so nothing is gained by many in flight.
ObjectSource of_elements(const OperatorDefinition& definition,
                         const std::string& symbol, std::size_t inputs) {
  const DType dtype = dtype_of(definition);
  const Passed type = passed(definition, dtype, false);
  const std::string_view stored = cpp_name_of(dtype);
  Writer writer(definition);
  std::string buffers;
  for (std::size_t i = 0; i < inputs; ++i) {
    writer.add(type, concat("x[", i, "]"));
    buffers += concat(", task.pointer<const ", stored, ">(", i + 1, ")");
  }
  writer.add_scalars(1 + inputs);
  // Only the low byte of a bool is defined.
  const std::string result =
      dtype == DType::Bool
          ? concat("(", writer.called(symbol), " & 0xff) != 0")
          : concat("static_cast<", stored, ">(", writer.called(symbol), ")");
  return {
      .declaration = writer.named(type.name, symbol),
      .signature = type.code + writer.codes(),
      .source = concat(
          "#include \"gpuos/map.h\"\n#include \"gpuos/short_floats.h\"\n",
          writer.declared(type.taken, symbol), "GPUOS_OPERATOR(",
          definition.name, ") {\n  gpuos::map<", stored, ", 1>(task.pointer<",
          stored, ">(0), task.count, lane, [=](const ", stored, "* x) -> ",
          stored, " {\n    static_cast<void>(x);\n    return ", result,
          ";\n  }", buffers, ");\n}\n")};
}

ObjectSource of_buffers(const OperatorDefinition& definition,
                        const std::string& symbol, std::size_t inputs,
                        char result) {
  const char* const type = result == 'l'   ? "long long"
                           : result == 'i' ? "int"
                                           : "void";
  Writer writer(definition);
  writer.add_address("", 0);
  for (std::size_t i = 1; i <= inputs; ++i) writer.add_address("const ", i);
  writer.add_scalars(1 + inputs);
  for (const char* value : {"task.count", "lane.index()", "lane.count()"})
    writer.add({"long long", "long long", 'l'}, value);
  return {.declaration = writer.named("void", symbol),
          .signature = 'v' + writer.codes(),
          .source = concat("#include \"gpuos/short_floats.h\"\n",
                           writer.declared(type, symbol), "GPUOS_OPERATOR(",
                           definition.name, ") {\n  ", writer.called(symbol),
                           ";\n}\n")};
}

/// `result`: what the function gives back where the declaration says void, as a
/// signature has it.
/// Throws: InvalidArgument if C has no such function: a dtype that is no C
/// type, or any number of inputs.
ObjectSource object_source(const OperatorDefinition& definition,
                           const std::string& symbol, char result = 'v') {
  const int inputs = inputs_of(definition);
  if (inputs < 0)
    throw InvalidArgument(concat(
        definition.name, ": expected `inputs`, the number of arrays that ",
        symbol, " takes, got none"));
  const auto count = static_cast<std::size_t>(inputs);
  return definition.elementwise ? of_elements(definition, symbol, count)
                                : of_buffers(definition, symbol, count, result);
}

// The declaration that calls it is C++.
void check_symbol(const OperatorDefinition& definition,
                  const std::string& symbol) {
  if (!is_identifier(symbol))
    throw InvalidArgument(
        concat(definition.name,
               ": expected a symbol that is a name of C, letters, digits and "
               "'_', got '",
               symbol, "'"));
}

}  // namespace

void complete_object(OperatorDefinition& definition, const Traits& traits) {
  if (!definition.object) return;
  DeviceObject& object = *definition.object;
  if (object.symbol.empty()) object.symbol = definition.name;
  check_symbol(definition, object.symbol);
  ObjectSource made = object_source(definition, object.symbol);
  jit::GivenObject given =
      jit::read_object(object, {.where = definition.name,
                                .symbol = object.symbol,
                                .declaration = std::move(made.declaration),
                                .signature = std::move(made.signature)});
  if (!traits.links_objects)
    throw BackendUnavailable(
        concat(definition.name, ": expected a source or an expression on the ",
               traits.name, " backend, got an object with code for a GPU"));
  auto code = std::make_shared<DeviceCode>();
  code->objects.push_back(std::move(given.object));
  // Linkers complain, aloud, of a declaration that is not the function's.
  definition.source =
      object_source(definition, object.symbol, given.result).source;
  definition.code = std::move(code);
  definition.checked = false;
}

}  // namespace gpuos
