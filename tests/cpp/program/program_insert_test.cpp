// Tests of programs that contain the graphs of other builders.
#include <gtest/gtest.h>

#include <array>

#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program_support.h"

namespace gpuos {
namespace {

TEST(ProgramInsert, IsWhatOneBuilderMakes) {
  ProgramBuilder scale;  // a * x - 2
  const Value x = scale.input(DType::Float32, 2);
  const Value made =
      binary(Op::Subtract, binary(Op::Multiply, scale.number(1.0), x),
             scale.literal(2.0));
  ProgramBuilder sum;  // the sum of x - y along the last axis
  const Value left = sum.input(DType::Float32, 2);
  const Value right = sum.input(DType::Float32, 2);
  const Value reduced = ProgramBuilder::reduce(
      Op::Sum, binary(Op::Subtract, left, right), std::vector{1});

  ProgramBuilder both;
  const std::array inputs = {both.input(DType::Float32, 2),
                             both.input(DType::Float32, 2)};
  const Value one = both.insert(made, std::span(inputs).first(1));
  const Value two = both.insert(made, std::span(inputs).last(1));
  both.output(both.insert(reduced, std::array{one, two}));
  const Program inserted = both.build();

  ProgramBuilder plain;
  const Value a = plain.input(DType::Float32, 2);
  const Value b = plain.input(DType::Float32, 2);
  const auto scaled = [&](const Value& value) {
    return binary(Op::Subtract, binary(Op::Multiply, plain.number(1.0), value),
                  plain.literal(2.0));
  };
  const Value first = scaled(a);
  const Value second = scaled(b);
  plain.output(ProgramBuilder::reduce(
      Op::Sum, binary(Op::Subtract, first, second), std::vector{1}));
  EXPECT_EQ(inserted.hash(), plain.build().hash());
  EXPECT_EQ(inserted.scalars(), 2u);
}

TEST(ProgramInsert, KeepsShapesThatAreOnlyAskedFor) {
  ProgramBuilder mean;
  const Value x = mean.input(DType::Float64, 1);
  const Value made = binary(Op::Divide, ProgramBuilder::reduce(Op::Sum, x),
                            ProgramBuilder::extent(x));
  ProgramBuilder builder;
  const Value y = builder.input(DType::Float64, 1);
  const Value doubled = binary(Op::Add, y, y);
  builder.output(builder.insert(made, std::array{doubled}));
  ProgramBuilder plain;
  const Value z = plain.input(DType::Float64, 1);
  const Value sum = binary(Op::Add, z, z);
  plain.output(binary(Op::Divide, ProgramBuilder::reduce(Op::Sum, sum),
                      ProgramBuilder::extent(sum)));
  EXPECT_EQ(builder.build().hash(), plain.build().hash());
}

TEST(ProgramInsert, RefusesOtherInputs) {
  ProgramBuilder from;
  const Value x = from.input(DType::Float32, 1);
  const Value made = binary(Op::Add, x, x);
  ProgramBuilder to;
  const Value fine = to.input(DType::Float32, 1);
  const Value wide = to.input(DType::Float64, 1);
  const Value flat = to.input(DType::Float32, 2);
  EXPECT_THROW(to.insert(made, {}), InvalidArgument);
  EXPECT_THROW(to.insert(made, std::array{wide}), InvalidArgument);
  EXPECT_THROW(to.insert(made, std::array{flat}), InvalidArgument);
  EXPECT_THROW(to.insert(made, std::array{x}), InvalidArgument);
  EXPECT_THROW(to.insert(fine, std::array{fine}), InvalidArgument);
  EXPECT_THROW(to.insert(Value(), std::array{fine}), InvalidArgument);
  EXPECT_NO_THROW(to.insert(made, std::array{fine}));
}

}  // namespace
}  // namespace gpuos
