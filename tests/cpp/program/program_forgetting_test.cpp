// Data of programs that are gone.
#include <algorithm>

#include "contract.h"
#include "counted_memory.h"

namespace gpuos {
namespace {

class ProgramForgetting : public Contract {};
GPUOS_INSTANTIATE_CONTRACT(ProgramForgetting);

/// A program of thirteen operations that no other number gives.
Program numbered_program(unsigned number) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  Value y = x;
  for (unsigned bit = 0; bit < 13; ++bit)
    y = ProgramBuilder::apply((number >> bit & 1) != 0 ? Op::Add : Op::Multiply,
                              {y, x});
  builder.output(y);
  return builder.build();
}

TEST_P(ProgramForgetting, ProgramsThatAreGoneLeaveNothing) {
  const DeviceArray<float> x(runtime(), 4, 1.0f), y(runtime(), 4);
  const std::vector<TensorView> inputs{x.view()}, outputs{y.view()};
  const CountedMemory counted;
  // Memory is reused in rotation, so the minimum of each is compared.
  const auto least_of = [&](unsigned first, unsigned last) {
    std::size_t least = ~std::size_t{0};
    for (unsigned number = first; number < last; ++number) {
      runtime().submit(numbered_program(number), inputs, outputs);
      if (number % 64 == 63) synchronize();
      least = std::min(least, CountedMemory::bytes());
    }
    return least;
  };
  least_of(0, 2048);
  const std::size_t before = least_of(2048, 4096);
  const std::size_t after = least_of(4096, 8192);
  // Each program took 3,700 bytes when programs were kept. A quarter of a byte
  // for each is less than the owner of a chunk of texts.
  EXPECT_LE(after, before + 4096 / 4);
  EXPECT_EQ(y.read()[0], 14.0f);  // 13 additions of 1
}

TEST_P(ProgramForgetting, AProgramThatStaysIsNotForgotten) {
  const DeviceArray<float> x(runtime(), 4, 1.0f), y(runtime(), 4);
  const std::vector<TensorView> inputs{x.view()}, outputs{y.view()};
  const Program kept = numbered_program(3);
  runtime().submit(kept, inputs, outputs);
  for (unsigned number = 100; number < 2200; ++number)
    runtime().submit(numbered_program(number), inputs, outputs);
  for (const float added : {3.0f, 3.0f}) {
    runtime().submit(kept, inputs, outputs);
    EXPECT_EQ(y.read()[0], added);  // x + x + x, then times 1
  }
  // A dropped program's structure is prepared again.
  runtime().submit(numbered_program(100), inputs, outputs);
  EXPECT_EQ(y.read()[0], 4.0f);
}

}  // namespace
}  // namespace gpuos
