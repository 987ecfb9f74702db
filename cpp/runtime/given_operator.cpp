#include "runtime/given_operator.h"

#include <memory>
#include <utility>

#include "base/c_text.h"
#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/device_code.h"
#include "jit/given_object.h"
#include "operators/object_source.h"

namespace gpuos {
namespace {

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
