#include "requests/builtin_fast_path.h"

#include <array>
#include <span>

#include "queue/operator_record.h"
#include "requests/arrays.h"
#include "requests/fused_requests.h"

namespace gpuos::requests {

BuiltinFastPath::BuiltinFastPath(Runtime& runtime)
    : add_(runtime.builtin("add")),
      sub_(runtime.builtin("sub")),
      mul_(runtime.builtin("mul")),
      div_(runtime.builtin("div")),
      copy_(runtime.builtin("copy")),
      fill_(runtime.builtin("fill")) {}

const Operator* BuiltinFastPath::find(const Request& request) const noexcept {
  const DType dtype = request.out_dtype;
  if (request.views != Request::kFlat || !has_builtins(dtype) ||
      request.compute != dtype)
    return nullptr;
  if (request.recipe == Recipe::Copy && request.numbers != 0) return &fill_;
  if (request.numbers != 0) return nullptr;
  for (std::size_t i = 0; i < request.operands; ++i)
    if (request.dtypes[i] != dtype) return nullptr;
  switch (request.recipe) {
    case Recipe::Add:
      return &add_;
    case Recipe::Subtract:
      return &sub_;
    case Recipe::Multiply:
      return &mul_;
    case Recipe::Copy:
      return &copy_;
    // The built-in operator divides integers as FloorDivide does.
    case Recipe::Divide:
      return is_floating(dtype) ? &div_ : nullptr;
    case Recipe::FloorDivide:
      return is_floating(dtype) ? nullptr : &div_;
    default:
      return nullptr;
  }
}

bool BuiltinFastPath::add(const Request& request, LevelCalls& calls) const {
  const Operator* op = find(request);
  if (op == nullptr) return false;
  const bool is_fill = request.numbers != 0;
  const std::array<std::uint64_t, 3> addresses{
      reinterpret_cast<std::uint64_t>(request.out), request.values[0],
      request.values[1]};
  const std::size_t buffers = is_fill ? 1 : 1 + request.operands;
  const Scalar value = is_fill ? number_of(request, 0) : Scalar(0);
  calls.add(*op, request.out_dtype, request.elems,
            std::span(addresses.data(), buffers), {&value, is_fill ? 1u : 0u});
  return true;
}

}  // namespace gpuos::requests
