// Views of values: what a program reads are views of its arguments.
#include "errors.h"
#include "gpuos/program_reductions.h"
#include "program/graph/plan.h"
#include "program_support.h"

namespace gpuos {
namespace {

AxisIndex slice(std::int64_t start, std::int64_t stop = AxisIndex::kLast,
                std::int64_t step = 1) {
  return {AxisIndex::Kind::Slice, start, stop, step};
}

TensorView view_of(float* data, const std::vector<std::int64_t>& shape) {
  return shaped({data, 1}, shape);
}

class ProgramViews : public Contract {
 protected:
  std::vector<float> run(const Program& program,
                         const std::vector<TensorView>& inputs) {
    const auto bytes = outputs_of(runtime(), program, inputs)[0];
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::string message_of(const Program& program, const TensorView& input) {
    return thrown_by<InvalidArgument>([&] { run(program, {input}); });
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramViews);

TEST_P(ProgramViews, ASliceOfASumIsASumOfSlicesWhereItIsNotBroadcast) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value y = builder.input(DType::Float32, 2);
  const AxisIndex axes[] = {slice(1), slice(0, AxisIndex::kLast, 2)};
  builder.output(ProgramBuilder::index(x + y, axes));
  const Program program = builder.build();
  EXPECT_EQ(program.inputs().size(), 2u);
  const DeviceArray<float> a(runtime(), std::vector<float>{1, 2, 3, 4, 5, 6});
  const DeviceArray<float> b(runtime(), std::vector<float>{10, 20, 30});
  EXPECT_EQ(
      run(program, {view_of(a.data(), {2, 3}), view_of(b.data(), {1, 3})}),
      (std::vector<float>{14, 36}));
  EXPECT_EQ(
      run(program, {view_of(a.data(), {2, 3}), view_of(b.data(), {1, 1})}),
      (std::vector<float>{14, 16}));
  // Now the first one is broadcast.
  EXPECT_EQ(
      run(program, {view_of(b.data(), {1, 3}), view_of(a.data(), {2, 1})}),
      (std::vector<float>{12, 32}));
}

TEST_P(ProgramViews, PartsAndTheirReverseAreOneTask) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const std::vector<Value> halves = split(x, 2);
  builder.output(halves[0] - flip(halves[1]));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(),
                             std::vector<float>{1, 2, 3, 50, 60, 70});
  const std::uint64_t before = runtime().stats().tasks_submitted;
  EXPECT_EQ(run(program, {a.view()}), (std::vector<float>{-69, -58, -47}));
  EXPECT_EQ(runtime().stats().tasks_submitted, before + 1);
  EXPECT_EQ(message_of(program, a.view(0, 5)),
            "split: expected an axis whose length is a multiple of 2, got 5");
}

TEST_P(ProgramViews, PartsAreWrittenOneAfterAnother) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  const std::vector<Value> parts{x * 2, y, roll(x, 1, 0)};
  builder.output(ProgramBuilder::concatenate(parts) + 1);
  const Program program = builder.build();
  EXPECT_EQ(program.outputs().size(), 1u);
  const DeviceArray<float> a(runtime(), std::vector<float>{1, 2, 3});
  const DeviceArray<float> b(runtime(), std::vector<float>{50});
  EXPECT_EQ(run(program, {a.view(), b.view()}),
            (std::vector<float>{3, 5, 7, 51, 4, 2, 3}));
  EXPECT_EQ(run(program, {b.view(), a.view()}),
            (std::vector<float>{101, 2, 3, 4, 51}));
}

TEST_P(ProgramViews, AShapeIsThatOfTheArgument) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value turned = ProgramBuilder::reshape(x * 2, Shape{3, -1});
  builder.output(sum(turned, std::vector{0}));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(), std::vector<float>{1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run(program, {view_of(a.data(), {2, 3})}),
            (std::vector<float>{18, 24}));
  EXPECT_EQ(message_of(program, view_of(a.data(), {2, 2})),
            "reshape: expected a shape of 4 elements, got (3, -1) for (2, 2)");
}

TEST_P(ProgramViews, TheSameViewIsOneInput) {
  const auto hash_of = [](std::int64_t start, std::int64_t other) {
    ProgramBuilder builder;
    const Value x = builder.input(DType::Float32, 1);
    const AxisIndex axes[] = {slice(start)};
    const AxisIndex others[] = {slice(other)};
    builder.output(ProgramBuilder::index(x, axes) *
                   ProgramBuilder::index(x, others));
    return builder.build();
  };
  EXPECT_EQ(hash_of(1, 1).plan()->inputs.size(), 2u);
  EXPECT_EQ(hash_of(1, 2).plan()->inputs.size(), 3u);
  EXPECT_NE(hash_of(1, 1).hash(), hash_of(2, 2).hash());
}

TEST_P(ProgramViews, WrongArgumentsAreRefusedBeforeTheyAreLookedAt) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const AxisIndex axes[] = {slice(1), slice(1)};
  builder.output(ProgramBuilder::index(x, axes));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(), 6);
  EXPECT_EQ(message_of(program, a.view()),
            "program: expected 2 dimensions of input 0, got (6,) float32");
  EXPECT_THROW(ProgramBuilder::index(x, std::span(axes, 1)), InvalidArgument);
}

}  // namespace
}  // namespace gpuos
