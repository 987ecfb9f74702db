#pragma once

#include <string>
#include <vector>

#include "device/operator.h"
#include "gpuos/operator.h"

namespace gpuos {

/// A whole operator whose element is `value` of the elements x[0], x[1], ... of
/// its inputs and of its parameters, which are of `dtype` as all is.
inline OperatorDefinition whole_operator(
    const std::string& name, const std::string& value, int inputs,
    DType dtype = DType::Float32, const std::vector<std::string>& params = {}) {
  const std::string type(cpp_name_of(dtype));
  const std::string head = "#include \"gpuos/map.h\"\nGPUOS_OPERATOR(" + name +
                           ") {\n  using T = " + type + ";\n";
  std::string scalars, pointers;
  OperatorDefinition definition{
      .name = name, .dtypes = {dtype}, .inputs = inputs};
  for (int k = 1; k <= inputs; ++k)
    pointers += ", task.pointer<const T>(" + std::to_string(k) + ")";
  for (std::size_t i = 0; i < params.size(); ++i) {
    definition.params.push_back({params[i], dtype});
    scalars += "  const T " + params[i] + " = task.scalar<T>(" +
               std::to_string(1 + static_cast<std::size_t>(inputs) + i) +
               ");\n";
  }
  definition.source = head + scalars +
                      "  gpuos::map<T>(task.pointer<T>(0), task.count, lane,\n"
                      "      [=](const T* x) -> T { return " +
                      value + "; }" + pointers + ");\n}\n";
  return definition;
}

/// Calls an operator the way a worker does.
template <typename T>
std::vector<T> call(OpFn entry, const std::vector<std::vector<T>>& inputs,
                    std::size_t n) {
  std::vector<T> out(n, T{77});
  std::vector<u64> args{reinterpret_cast<u64>(out.data())};
  for (const auto& input : inputs)
    args.push_back(reinterpret_cast<u64>(input.data()));
  entry(Task{args.data(), nullptr, static_cast<u32>(n)}, Lane{});
  return out;
}

}  // namespace gpuos
