// The digest of a definition, equal in all processes.
#include <string>

#include "gpuos/operator.h"
#include "jit/cache/compile_cache.h"
#include "jit/cache/sha256.h"

namespace gpuos {
namespace {

std::string value_text(const Parameter& param) {
  if (!param.default_value) return "";
  std::string text = std::to_string(param.default_value->bits_as(param.dtype));
  if (param.dtype == DType::Complex128)
    text +=
        ' ' + std::to_string(param.default_value->bits_as(param.dtype, true));
  return text;
}

}  // namespace

std::string digest_of(const OperatorDefinition& definition) {
  jit::CacheKey all;
  all.add(std::string("gpuos definition 1"));
  all.add(definition.expression);
  all.add(definition.source);
  all.add(definition.object ? 1 + static_cast<int>(definition.object->kind)
                            : 0);
  if (definition.object) {
    const DeviceObject& object = *definition.object;
    all.add(object.bytes);
    all.add(object.symbol.empty() ? definition.name : object.symbol);
  }
  all.add(static_cast<std::int64_t>(definition.params.size()));
  for (const Parameter& param : definition.params) {
    all.add(param.name);
    all.add(std::string(name_of(param.dtype)));
    all.add(value_text(param));
  }
  all.add(static_cast<std::int64_t>(definition.dtypes.size()));
  for (const DType dtype : definition.dtypes)
    all.add(std::string(name_of(dtype)));
  for (const std::string& name : definition.input_names) all.add(name);
  // An expression says these itself.
  if (definition.expression.empty()) {
    all.add(definition.inputs);
    all.add(static_cast<int>(definition.elementwise));
  }
  if (!definition.source.empty())
    all.add(definition.checked ? static_cast<int>(*definition.checked) : -1);
  return jit::sha256_hex(all.text());
}

}  // namespace gpuos
