#include "requests/direct.h"

#include <array>
#include <span>

#include "requests/arrays.h"
#include "requests/part.h"

namespace gpuos::requests {

Direct::Direct(Runtime& runtime)
    : runtime_(runtime),
      add_(runtime.find("add")),
      sub_(runtime.find("sub")),
      mul_(runtime.find("mul")),
      div_(runtime.find("div")),
      copy_(runtime.find("copy")),
      fill_(runtime.find("fill")) {}

const Operator* Direct::find(const Request& request) const noexcept {
  const DType dtype = request.out_dtype;
  if (request.views != Request::kFlat || dtype > DType::Int64 ||
      request.compute != dtype)
    return nullptr;
  if (request.recipe == Recipe::Copy && request.numbers != 0) return &fill_;
  if (request.numbers != 0) return nullptr;
  for (std::size_t i = 0; i < request.operands; ++i)
    if (request.dtypes[i] != dtype) return nullptr;
  switch (request.recipe) {
    case Recipe::Add:
      return &add_;
    case Recipe::Sub:
      return &sub_;
    case Recipe::Mul:
      return &mul_;
    case Recipe::Copy:
      return &copy_;
    // The built-in operator divides integers as DivFloor does.
    case Recipe::Div:
      return is_floating(dtype) ? &div_ : nullptr;
    case Recipe::DivFloor:
      return is_floating(dtype) ? nullptr : &div_;
    default:
      return nullptr;
  }
}

bool Direct::submit(const Request& request, const Stream& stream) {
  const Operator* op = find(request);
  if (op == nullptr) return false;
  const auto elems = static_cast<std::int64_t>(request.elems);
  const TensorView out(request.out, elems, request.out_dtype);
  if (request.numbers != 0) {
    const Scalar value = number_of(request, 0);
    runtime_.submit(*op, {}, out, {&value, 1}, stream);
    return true;
  }
  std::array<TensorView, 2> inputs;
  for (std::size_t i = 0; i < request.operands; ++i)
    inputs[i] = TensorView(reinterpret_cast<void*>(request.values[i]), elems,
                           request.out_dtype);
  runtime_.submit(*op, std::span(inputs.data(), request.operands), out, {},
                  stream);
  return true;
}

}  // namespace gpuos::requests
