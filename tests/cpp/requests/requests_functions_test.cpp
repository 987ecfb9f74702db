// Elementwise functions of requests. Their values are compared with those of
// PyTorch by test_torch_overloads.py and test_torch_opinfo.py, except where the
// two differ.
#include <cmath>
#include <cstdint>
#include <iterator>
#include <vector>

#include "program/graph/plan.h"
#include "program_support.h"
#include "request_support.h"
#include "requests/fused_requests.h"

namespace gpuos {
namespace {

class FunctionContract : public Contract {};
GPUOS_INSTANTIATE_CONTRACT(FunctionContract);

// The formulas, and some kernels of PyTorch, give no number.
TEST_P(FunctionContract, UnitsAreClosedAtMinusInfinity) {
  const DeviceArray<float> x(runtime(), 1, -INFINITY);
  for (const Function function :
       {Function::Silu, Function::Gelu, Function::GeluTanh}) {
    const DeviceArray<float> out(runtime(), 1, 5.0f);
    run_request(runtime(), function, operand_of(out, DType::Float32),
                {operand_of(x, DType::Float32)});
    EXPECT_EQ(out.read()[0], 0) << "function " << static_cast<int>(function);
  }
}

TEST_P(FunctionContract, HalfTypesAreRoundedOnce) {
  // 3 * 0.8 is 2.4, and the next half to 2050.4 is 2050.
  const DeviceArray<std::uint16_t> x(runtime(), 1, to_half_bits(2048.0f));
  const DeviceArray<std::uint16_t> y(runtime(), 1, to_half_bits(0.8f));
  const DeviceArray<std::uint16_t> out(runtime(), 1);
  const DType half = DType::Float16;
  run_request(runtime(), Function::AddScaled, operand_of(out, half),
              {operand_of(x, half), operand_of(y, half), 3.0});
  EXPECT_EQ(out.read()[0], to_half_bits(2050.0f));
}

// The runner counts on it when it fills a task.
TEST(Functions, HaveNoMoreNumbersThanTheyAreCountedWith) {
  const auto check = [](Function function, DType compute, DType out) {
    Request request;
    request.function = bridge::function_of(function);
    request.operands = static_cast<std::uint8_t>(bridge::operands_of(function));
    request.compute = compute;
    request.out_dtype = out;
    requests::FusedRequests part;
    std::vector<requests::OperandSource> links;
    for (int k = 0; k < request.operands; ++k) {
      float* const address = nullptr;
      links.push_back(part.input(TensorView(address + k, 1, compute), true));
    }
    part.output(part.add(request, links), {}, true);
    Program program;
    try {
      program = part.build();
    } catch (const InvalidArgument&) {
      return false;  // not of integers
    }
    EXPECT_LE(program.plan()->fused.passes[0].scalars.size(),
              part.arguments() - part.inputs().size())
        << "function " << static_cast<int>(function);
    return true;
  };
  for (std::size_t i = 0; i < std::size(bridge::kOperands); ++i) {
    bool is_any = false;
    for (const DType dtype : {DType::Float32, DType::Float16, DType::Int32})
      for (const DType out : {dtype, DType::Bool})
        is_any |= check(static_cast<Function>(i), dtype, out);
    EXPECT_TRUE(is_any) << "function " << i;
  }
}

}  // namespace
}  // namespace gpuos
