#include "gpuos/program_functions.h"

#include <gtest/gtest.h>

#include <complex>
#include <vector>

#include "contract.h"
#include "gpuos/program_reductions.h"

namespace gpuos {
namespace {

class ProgramFunctions : public Contract {};

TEST_P(ProgramFunctions, OperatorsAndFunctionsMakeAProgram) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  const Value k = builder.number(1.0);
  builder.output(where(x > y, k * x, y - 1));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(), {1, 5, 3}), b(runtime(), {2, 4, 3});
  const DeviceArray<float> out(runtime(), 3);
  const std::vector inputs = {a.view(), b.view()};
  const TensorView to = out.view();
  const Scalar number = 10.0;
  runtime().submit(program, inputs, {&to, 1}, {&number, 1});
  EXPECT_EQ(out.read(), (std::vector<float>{1, 50, 2}));
}

GPUOS_INSTANTIATE_CONTRACT(ProgramFunctions);

TEST(ProgramFunctionsTypes, NumbersTakeTheDtypeOfWhatTheyMeet) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Int8, 0);
  EXPECT_EQ((x + 1).dtype(), DType::Int8);
  EXPECT_EQ((x + 1.0).dtype(), DType::Float64);
  EXPECT_EQ((x + true).dtype(), DType::Int8);
  const Value f = builder.input(DType::Float32, 0);
  EXPECT_EQ((2.0 * f).dtype(), DType::Float32);
  EXPECT_EQ((f * std::complex<float>(0, 1)).dtype(), DType::Complex64);
  EXPECT_EQ((x * std::complex<float>(0, 1)).dtype(), DType::Complex128);
}

TEST(ProgramFunctionsTypes, HalvesStayHalvesAndAMeanOfIntegersDoesNot) {
  ProgramBuilder builder;
  const Value h = builder.input(DType::Float16, 2);
  EXPECT_EQ(softplus(h).dtype(), DType::Float16);
  EXPECT_EQ(mean(h).dtype(), DType::Float16);
  EXPECT_EQ(softmax(h, std::vector{1}).rank(), 2);
  EXPECT_EQ(mean(builder.input(DType::UInt8, 1)).dtype(), DType::Float64);
}

TEST(ProgramFunctionsTypes, IntegersGiveTheSmallestFloatThatHoldsEach) {
  ProgramBuilder builder;
  const Value signed_byte = builder.input(DType::Int8, 0);
  const Value byte = builder.input(DType::UInt8, 0);
  EXPECT_EQ(hypot(signed_byte, byte).dtype(), DType::Float16);
  EXPECT_EQ(hypot(byte, builder.input(DType::Int16, 0)).dtype(),
            DType::Float32);
}

TEST(ProgramFunctionsTypes, EqualNumbersAreOne) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 0);
  EXPECT_EQ((x * 2.5).id(), (x * 2.5).id());
  EXPECT_NE((x * 2.5).id(), (x * 2.75).id());
}

TEST(ProgramFunctionsTypes, ImpossibleTypesAreRefused) {
  ProgramBuilder builder;
  const Value i = builder.input(DType::Int32, 1);
  EXPECT_THROW(power(i, -1), InvalidArgument);
  EXPECT_THROW(maximum(1, 2), InvalidArgument);
  EXPECT_THROW(where(true, 1, 2), InvalidArgument);
  EXPECT_THROW(expand_dims(i, 2), InvalidArgument);
  EXPECT_THROW(transpose(i, std::vector{0, 1}), InvalidArgument);
  EXPECT_THROW(astype(builder.input(DType::Complex64, 0), DType::Float32),
               InvalidArgument);
}

}  // namespace
}  // namespace gpuos
