#include "host/builtin_table.h"

#include "device/builtin_operators.h"

namespace gpuos::host {
namespace {

#define GPUOS_DEFINE_DTYPE(suffix, type, name, inputs, expression)        \
  void name##_##suffix(Task task, Lane lane) {                            \
    run_builtin<type, inputs>(                                            \
        task, lane,                                                       \
        [=]([[maybe_unused]] const type* x,                               \
            [[maybe_unused]] type value) -> type { return expression; }); \
  }
#define GPUOS_DEFINE(name, inputs, scalars, ...) \
  GPUOS_BUILTIN_DTYPES(GPUOS_DEFINE_DTYPE, name, inputs, (__VA_ARGS__))
GPUOS_BUILTIN_OPERATORS(GPUOS_DEFINE)

#define GPUOS_ROW_DTYPE(suffix, type, name) {#name, name##_##suffix},
#define GPUOS_ROW(name, inputs, scalars, ...) \
  GPUOS_BUILTIN_DTYPES(GPUOS_ROW_DTYPE, name)
constexpr Builtin kTable[] = {GPUOS_BUILTIN_OPERATORS(GPUOS_ROW)};

}  // namespace

std::span<const Builtin> builtin_table() noexcept { return kTable; }

}  // namespace gpuos::host
