// The device's instructions and the host's bits say the same.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>

#include "base/concat.h"
#include "contract.h"
#include "device/short_floats.h"
#include "gpuos/dtype_list.h"

namespace gpuos {
namespace {

using Ints = std::vector<std::int32_t>;

class HalfOperators : public Contract {
 protected:
  /// `expression` of the int32 `x`, for each element of `in`. `Short` is the
  /// short float.
  Ints run(const std::string& name, const std::string& type,
           const std::string& expression, const Ints& in) {
    const Operator op = runtime().define(
        {.name = name,
         .source =
             concat("#include \"gpuos/integers.h\"\n"
                    "#include \"gpuos/short_floats.h\"\n"
                    "#include \"gpuos/vectors.h\"\n"
                    "using namespace gpuos;\n"
                    "GPUOS_OPERATOR(",
                    name,
                    ") {\n"
                    "  using Short = ",
                    type,
                    ";\n"
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

  template <typename T>
  void expect_same_floats(const std::string& type) {
    using Bits = decltype(T::bits);
    Ints in(std::size_t{1} << 8 * sizeof(T));
    std::iota(in.begin(), in.end(), 0);
    const Ints got = run("from_" + type, type,
                         "bit_cast<int32_t>(float(bit_cast<Short>(\n"
                         "        static_cast<decltype(Short::bits)>(x))))",
                         in);
    for (std::size_t i = 0; i < in.size(); ++i) {
      const auto value = std::bit_cast<float>(got[i]);
      const float wanted = std::bit_cast<T>(static_cast<Bits>(in[i]));
      if (std::isnan(wanted))
        ASSERT_TRUE(std::isnan(value)) << type << " " << in[i];
      else
        ASSERT_EQ(got[i], std::bit_cast<std::int32_t>(wanted))
            << type << " " << in[i];
    }
  }

  template <typename T>
  void expect_same_bits(const std::string& type) {
    const Ints in = floats();
    const Ints got =
        run("to_" + type, type, "Short(bit_cast<float>(x)).bits", in);
    for (std::size_t i = 0; i < in.size(); ++i)
      ASSERT_EQ(got[i], T(std::bit_cast<float>(in[i])).bits)
          << type << " " << in[i];
  }

 private:
  static Ints floats() {
    Ints some(1 << 18);
    std::mt19937 random(11);
    for (std::int32_t& bits : some) bits = static_cast<std::int32_t>(random());
    // Values between any two neighbours of each format, and next to them.
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits)
      for (const std::uint32_t low :
           {0x0000u, 0x0fffu, 0x1000u, 0x1001u, 0x8000u})
        some.push_back(static_cast<std::int32_t>(bits << 16 | low));
    return some;
  }
};

TEST_P(HalfOperators, EveryPatternIsTheSameFloat) {
#define GPUOS_EXPECT(with, name, text, bytes, Stored, ...) \
  expect_same_floats<Stored>(#Stored);
  GPUOS_SHORT_FLOATS(GPUOS_EXPECT, )
#undef GPUOS_EXPECT
}

TEST_P(HalfOperators, FloatsBecomeTheSameBits) {
#define GPUOS_EXPECT(with, name, text, bytes, Stored, ...) \
  expect_same_bits<Stored>(#Stored);
  GPUOS_SHORT_FLOATS(GPUOS_EXPECT, )
#undef GPUOS_EXPECT
}

GPUOS_INSTANTIATE_CONTRACT(HalfOperators);

}  // namespace
}  // namespace gpuos
