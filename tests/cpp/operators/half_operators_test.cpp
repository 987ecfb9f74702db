// The device's instructions and the host's bits say the same.
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>

#include "base/concat.h"
#include "contract.h"
#include "device/bfloat16.h"
#include "device/half.h"

namespace gpuos {
namespace {

using Ints = std::vector<std::int32_t>;

class HalfOperators : public Contract {
 protected:
  /// `expression` of the int32 `x`, for each element of `in`.
  Ints run(const std::string& name, const std::string& expression,
           const Ints& in) {
    const Operator op = runtime().define(
        {.name = name,
         .source =
             concat("#include \"gpuos/bfloat16.h\"\n"
                    "#include \"gpuos/half.h\"\n"
                    "#include \"gpuos/integers.h\"\n"
                    "#include \"gpuos/vectors.h\"\n"
                    "using namespace gpuos;\n"
                    "GPUOS_OPERATOR(",
                    name,
                    ") {\n"
                    "  int32_t* out = task.pointer<int32_t>(0);\n"
                    "  const int32_t* in = task.pointer<const int32_t>(1);\n"
                    "  for (u32 i = lane.index(); i < task.count;\n"
                    "       i += lane.count()) {\n"
                    "    const int32_t x = in[i];\n"
                    "    out[i] = ",
                    expression, ";\n  }\n}\n"),
         .dtypes = {DType::Int32},
         .inputs = 1});
    const DeviceArray<std::int32_t> x(runtime(), in);
    const DeviceArray<std::int32_t> out(runtime(), in.size());
    runtime().submit(op, {x.view()}, out.view());
    return out.read();
  }

  static Ints patterns() {
    Ints all(0x10000);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  static Ints floats() {
    Ints some(1 << 18);
    std::mt19937 random(11);
    for (std::int32_t& bits : some) bits = static_cast<std::int32_t>(random());
    // Between and beside every two neighbours of either format.
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
      for (const std::uint32_t low : {0x0fffu, 0x1000u, 0x1001u, 0x8000u})
        some.push_back(static_cast<std::int32_t>(bits << 16 | low));
    return some;
  }
};

TEST_P(HalfOperators, EveryHalfIsTheSameFloat) {
  const Ints got =
      run("from_half",
          "bit_cast<int32_t>(float(bit_cast<F16>(static_cast<u16>(x))))",
          patterns());
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    ASSERT_EQ(got[bits], std::bit_cast<std::int32_t>(
                             half_to_float(static_cast<u16>(bits))))
        << bits;
}

TEST_P(HalfOperators, EveryBFloat16IsTheSameFloat) {
  const Ints got =
      run("from_bfloat16",
          "bit_cast<int32_t>(float(bit_cast<Bf16>(static_cast<u16>(x))))",
          patterns());
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
    ASSERT_EQ(static_cast<std::uint32_t>(got[bits]), bits << 16);
}

TEST_P(HalfOperators, FloatsBecomeTheSameHalf) {
  const Ints in = floats();
  const Ints got = run("to_half", "F16(bit_cast<float>(x)).bits", in);
  for (std::size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(got[i], to_half_bits(std::bit_cast<float>(in[i]))) << in[i];
}

TEST_P(HalfOperators, FloatsBecomeTheSameBFloat16) {
  const Ints in = floats();
  const Ints got = run("to_bfloat16", "Bf16(bit_cast<float>(x)).bits", in);
  for (std::size_t i = 0; i < in.size(); ++i)
    ASSERT_EQ(got[i], to_bfloat16_bits(std::bit_cast<float>(in[i]))) << in[i];
}

GPUOS_INSTANTIATE_CONTRACT(HalfOperators);

}  // namespace
}  // namespace gpuos
