#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "errors.h"
#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "gpuos/program_reductions.h"

namespace gpuos {
namespace {

class ProgramShapes : public testing::Test {
 protected:
  ProgramShapes() { builder.set_shapes({{2, 3}, {3}}); }

  ProgramBuilder builder;
  Value x = builder.input(DType::Float32, 2);
  Value y = builder.input(DType::Float32, 1);
};

std::string error_of(auto build) {
  return thrown_by<InvalidArgument>([&] { build(); });
}

TEST_F(ProgramShapes, AreThoseOfOneCall) {
  const auto shape_of = ProgramBuilder::shape_of;
  EXPECT_FALSE(builder.has_told_shapes());
  EXPECT_EQ(shape_of(x), (Shape{2, 3}));
  EXPECT_TRUE(builder.has_told_shapes());
  EXPECT_EQ(shape_of(x + y), (Shape{2, 3}));
  EXPECT_EQ(shape_of(sum(x, std::vector{1})), (Shape{2}));
  EXPECT_EQ(shape_of(sum(x)), Shape());
  EXPECT_EQ(shape_of(transpose(x)), (Shape{3, 2}));
  EXPECT_EQ(shape_of(ProgramBuilder::reshape(x, Shape{-1})), (Shape{6}));
  const std::array parts{y, y, y};
  EXPECT_EQ(shape_of(ProgramBuilder::concatenate(parts)), (Shape{9}));
}

TEST_F(ProgramShapes, AreNotKnownBeforeTheyAreSet) {
  ProgramBuilder other;
  const Value z = other.input(DType::Float32, 1);
  EXPECT_FALSE(other.has_told_shapes());
  EXPECT_NE(error_of([&] { ProgramBuilder::shape_of(z); }), "");
}

TEST_F(ProgramShapes, AreReportedInEveryMismatch) {
  const Value wrong = x + ProgramBuilder::reshape(y, Shape{3, 1});
  EXPECT_EQ(ProgramBuilder::shape_of(x * 2), (Shape{2, 3}));
  EXPECT_NE(error_of([&] { ProgramBuilder::shape_of(wrong); }), "");
}

TEST(StrictProgramShapes, RefuseMismatchesWhileBuilding) {
  ProgramBuilder builder;
  builder.set_shapes({{2}, {3}}, true);
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  const Value z = x * 2 - 1;
  EXPECT_EQ(error_of([&] { z - y; }),
            "subtract: expected shapes that broadcast, got (2,) and (3,)");
  EXPECT_EQ(error_of([&] { where(less(x, 0), y, 1); }),
            "where: expected shapes that broadcast, got (2,) and (3,)");
  const std::vector<AxisIndex> last{
      {.kind = AxisIndex::Kind::Place, .start = 2}};
  EXPECT_EQ(error_of([&] { ProgramBuilder::index(x, last); }),
            "index: expected a place of -2 to 1 in an axis of 2 elements, "
            "got 2");
  EXPECT_FALSE(builder.has_told_shapes());
}

TEST(AskedScalars, AreThoseOfWhichAloneAValueIsComputed) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value a = builder.scalar(DType::Float32);
  const Value b = builder.number(Scalar(1));
  const Value c = builder.number(Scalar(1));
  const auto ask = ProgramBuilder::ask_scalars;
  using Numbers = std::vector<std::uint32_t>;
  EXPECT_FALSE(ask(x * a));
  EXPECT_FALSE(ask(ProgramBuilder::extent(x)));
  EXPECT_FALSE(ask(builder.literal(2)));
  EXPECT_EQ(builder.asked_scalars(), Numbers());
  Value shared = c;
  for (int i = 0; i < 60; ++i) shared = shared - shared * 2;
  EXPECT_TRUE(ask(shared));
  EXPECT_EQ(builder.asked_scalars(), Numbers{2});
  EXPECT_TRUE(ask(a + b * 2));
  EXPECT_EQ(builder.asked_scalars(), (Numbers{0, 1, 2}));
}

}  // namespace
}  // namespace gpuos
