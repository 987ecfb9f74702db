#include "host/operator_loader.h"

#include "expression/expression.h"
#include "expression/interpreter.h"
#include "host/host_compiler.h"

namespace gpuos::host {
namespace {

LoadedOperator interpreted(const OperatorBuild& build) {
  auto program = make_interpreter_program(*build.expression, build.dtype);
  const void* state = program.get();
  return {interpret, state, std::move(program), build.definition.name};
}

LoadedOperator compiled(const OperatorBuild& build) {
  HostModule module = compile_host_operator({.source = build.definition.source,
                                             .entry = build.definition.name,
                                             .is_awaited = build.is_awaited});
  return {module.entry, nullptr, std::move(module.library),
          build.definition.name};
}

}  // namespace

LoadedOperator load_operator(const OperatorBuild& build) {
  return build.expression != nullptr ? interpreted(build) : compiled(build);
}

}  // namespace gpuos::host
