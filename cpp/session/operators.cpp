#include <algorithm>
#include <array>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/device_code.h"
#include "jit/symbols.h"
#include "session/cells/functions.h"
#include "session/launches.h"

namespace gpuos::session {
namespace {

constexpr std::array kDTypes{DType::Float32, DType::Float64, DType::Int32,
                             DType::Int64};

struct Parameter {
  std::string name;
  DType dtype = DType::Float32;
};

[[noreturn]] void fail(const Definition& function, const std::string& expected,
                       const std::string& got) {
  throw InvalidArgument(concat("operator of ", function.title(), ": expected ",
                               expected, ", got ", got));
}

DType dtype_of(const Definition& function, const std::string& type) {
  // On a 64-bit system long is equal to long long.
  const std::string plain = type == "long" ? "long long" : type;
  for (const DType dtype : kDTypes) {
    if (cpp_name_of(dtype) == plain) return dtype;
  }
  fail(function, "float, double, int or long long", type);
}

// Returns "float" of "static __device__ float".
std::string result_type(const Item& item) {
  std::string type;
  const CellText text{"", item.result};
  for (const Token& token : tokenize(text)) {
    if (token.text.starts_with("__")) continue;
    type += type.empty() ? "" : " ";
    type += token.text;
  }
  return type;
}

std::vector<Parameter> parameters_of(const Definition& function) {
  const auto types = jit::parameter_types(function.symbol);
  if (!types) fail(function, "a C++ function", "an extern \"C\" one");
  const CellText text{"", function.item.text};
  const TokenList tokens(text);
  const Shape shape = find_shape(tokens, 0, tokens.size());
  const std::vector<std::string> names =
      parameter_names(tokens, shape.parameters);
  std::vector<Parameter> found;
  for (std::size_t i = 0; i < types->size() && i < names.size(); ++i)
    found.push_back({names[i], dtype_of(function, (*types)[i])});
  return found;
}

// Returns the generated source. The inputs come first, as in the operator's
// arguments.
std::string source_of(const Definition& function, const std::string& header,
                      const std::string& name, DType result,
                      const std::vector<Parameter>& parameters,
                      const std::vector<std::string>& params) {
  const std::string type(cpp_name_of(result));
  std::string loads =
      concat("  ", type, "* out = task.pointer<", type, ">(0);\n");
  std::string call;
  std::size_t inputs = 0;
  const std::size_t scalars_at = 1 + parameters.size() - params.size();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const auto scalar = std::ranges::find(params, parameters[i].name);
    const std::string_view own = cpp_name_of(parameters[i].dtype);
    if (scalar == params.end()) {
      loads += concat("  const ", own, "* a", i, " = task.pointer<const ", own,
                      ">(", ++inputs, ");\n");
    } else {
      const auto place = static_cast<std::size_t>(scalar - params.begin());
      loads += concat("  const ", own, " a", i, " = task.scalar<", own, ">(",
                      scalars_at + place, ");\n");
    }
    call +=
        concat(i == 0 ? "" : ", ", "a", i, scalar == params.end() ? "[i]" : "");
  }
  return concat(header, "GPUOS_OPERATOR(", name, ") {\n", loads,
                "  for (gpuos::u32 i = lane.index(); i < task.count; i += "
                "lane.count())\n    out[i] = ",
                function.qualified_name(), "(", call, ");\n}\n");
}

std::shared_ptr<const DeviceCode> code_of(const DefinitionPtr& function,
                                          Workspace& workspace,
                                          Device& device) {
  auto code = std::make_shared<DeviceCode>();
  const Closure closure = workspace.linker().close({&function, 1});
  for (const DefinitionPtr& part : closure.functions)
    code->objects.push_back(part->object);
  for (const DefinitionPtr& part : closure.variables) {
    code->objects.push_back(part->pointer);
    code->addresses.push_back(
        {part->symbol, device.storage(part, workspace.linker()).address});
    code->storage.push_back(device.owner(part, "operator"));
  }
  return code;
}

}  // namespace

OperatorDefinition define_operator(const DefinitionPtr& function,
                                   const std::string& name,
                                   const std::vector<std::string>& params,
                                   Workspace& workspace, Device& device) {
  const std::vector<Parameter> parameters = parameters_of(*function);
  const DType result = dtype_of(*function, result_type(function->item));
  OperatorDefinition definition;
  definition.name = name;
  definition.dtypes = {result};
  definition.inputs = 0;
  for (const Parameter& parameter : parameters) {
    if (std::ranges::find(params, parameter.name) != params.end()) continue;
    ++definition.inputs;
    if (parameter.dtype != result)
      fail(*function,
           concat("inputs of the result's type ", cpp_name_of(result)),
           concat(cpp_name_of(parameter.dtype), " ", parameter.name));
  }
  for (const std::string& param : params) {
    const auto found = std::ranges::find(parameters, param, &Parameter::name);
    if (found == parameters.end())
      fail(*function, "the names of parameters", param);
    definition.params.push_back({param, found->dtype});
  }
  const Selection header =
      workspace.header().select({function->item.name}, nullptr);
  definition.source =
      source_of(*function, header.text, name, result, parameters, params);
  definition.code = code_of(function, workspace, device);
  return definition;
}

}  // namespace gpuos::session
