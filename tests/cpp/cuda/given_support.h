// Functions that other compilers compiled, and operators of them, built without
// a device.
#pragma once

#include <fstream>
#include <iterator>
#include <string>

#include "base/concat.h"
#include "cuda/operator_modules.h"
#include "gpuos/error.h"
#include "gpuos/operator.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "runtime/given_operator.h"

namespace gpuos::cu {

using Kind = DeviceObject::Kind;

inline constexpr Kind kKinds[] = {Kind::Ptx, Kind::LtoIr, Kind::Cubin};

inline const char* name_of(Kind kind) {
  return kind == Kind::Ptx ? "PTX" : kind == Kind::LtoIr ? "LTO-IR" : "CUBIN";
}

/// A text of tests/objects.
inline std::string stored_object(const std::string& name) {
  std::ifstream file(concat(GPUOS_SOURCE_DIR, "/tests/objects/", name));
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Returns NVRTC's object of this kind for CUDA C++.
inline std::string made_object(Kind kind, const std::string& source,
                               int compute_capability,
                               std::uint32_t max_registers = 0,
                               bool relocatable = true) {
  const jit::Nvrtc& api = jit::nvrtc();
  const jit::Target target = jit::choose_target(
      api, compute_capability,
      kind == Kind::Ptx ? concat("compute_", compute_capability) : "");
  return jit::compile_unit(api,
                           {.source = source,
                            .file_name = "given.cu",
                            .options = {.max_registers = max_registers},
                            .relocatable = relocatable,
                            .as_lto = kind == Kind::LtoIr},
                           target)
      .binary;
}

inline Traits traits_of(std::string_view backend) {
  Traits traits;
  traits.name = backend;
  traits.links_objects = backend == "cuda";
  return traits;
}

/// The image that a device of this kind would load.
inline jit::Image built(OperatorDefinition definition,
                        int compute_capability = 90) {
  complete_object(definition, traits_of("cuda"));
  const OperatorBuild build{.definition = definition, .slot = 0};
  return build_image({&build, 1}, compute_capability,
                     {.registers = jit::kWorkerRegisters, .stack_bytes = 1024})
      .image;
}

/// The exception that building it ends with: "CompileError axpy: ...".
inline std::string refusal(const OperatorDefinition& definition,
                           int compute_capability = 90) {
  try {
    built(definition, compute_capability);
  } catch (const InvalidArgument& error) {
    return concat("InvalidArgument ", error.what());
  } catch (const CompileError& error) {
    return concat("CompileError ", error.what());
  } catch (const BackendUnavailable& error) {
    return concat("BackendUnavailable ", error.what());
  }
  return "built";
}

/// The operator axpy of an object's function `symbol`.
inline OperatorDefinition axpy_of(Kind kind, std::string bytes,
                                  const std::string& symbol = "axpy") {
  return {.name = "axpy",
          .object = DeviceObject{kind, std::move(bytes), symbol},
          .params = {{"alpha"}},
          .inputs = 2};
}

}  // namespace gpuos::cu
