// Tests the rounding of tasks and their treatment of denormals.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>

#include "contract.h"
#include "host/usual_floats.h"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace gpuos {
namespace {

constexpr std::size_t kElems = 1000;
constexpr float kDenormal = std::numeric_limits<float>::denorm_min() * 8;

constexpr float kHalf = std::numeric_limits<float>::denorm_min() * 4;

// A thread that takes denormals for zeros compares them so.
std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

/// A caller that rounds toward zero and flushes denormals, where it can.
class OddFloats {
 public:
  OddFloats() {
    std::fesetround(FE_TOWARDZERO);
#if defined(__SSE2__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  }
  OddFloats(const OddFloats&) = delete;
  OddFloats& operator=(const OddFloats&) = delete;

  bool are_there() const {
    bool there = std::fegetround() == FE_TOWARDZERO;
#if defined(__SSE2__)
    there = there && (_mm_getcsr() & 0x8040) == 0x8040;
#endif
    return there;
  }

 private:
  const UsualFloats back_;
};

class OperatorFloats : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (!IsSkipped()) restart_with_few_workers();
  }
  void restart_with_few_workers() {
    restart({.backend = GetParam(), .workers = is_host() ? 2u : 0u});
  }
  /// 1 + 3 * 2^-25, which rounds up to nearest, and half of a denormal.
  void expect_usual(const char* when) {
    const float third = std::ldexp(3.0f, -25);
    DeviceArray<float> x(runtime(), std::vector<float>(kElems, 1.0f));
    DeviceArray<float> y(runtime(), std::vector<float>(kElems, third));
    DeviceArray<float> d(runtime(), std::vector<float>(kElems, kDenormal));
    DeviceArray<float> h(runtime(), std::vector<float>(kElems, 0.5f));
    DeviceArray<float> sum(runtime(), kElems), half(runtime(), kElems);
    runtime().submit("add", {x.view(), y.view()}, sum.view());
    runtime().submit("mul", {d.view(), h.view()}, half.view());
    synchronize();
    const std::vector<float> sums = sum.read(), halves = half.read();
    EXPECT_GT(sums[0], 1.0f) << when;
    EXPECT_EQ(bits(halves[0]), bits(kHalf)) << when;
  }
};

TEST_P(OperatorFloats, TheCallersSettingsReachNoTaskAndStay) {
  const OddFloats odd;
  restart_with_few_workers();  // threads begin with their maker's settings
  expect_usual("a runtime of a caller with odd settings");
  EXPECT_TRUE(odd.are_there());
  const Operator op = runtime().define(
      {.name = "half_of",
       .source = "GPUOS_OPERATOR(half_of) {\n"
                 "  volatile const float* in =\n"
                 "      task.pointer<volatile const float>(1);\n"
                 "  if (lane.index() == 0)\n"
                 "    *task.pointer<float>(0) = in[0] * 0.5f;\n"
                 "}",
       .inputs = 1,
       .elementwise = false});
  DeviceArray<float> in(runtime(), 1, kDenormal), out(runtime(), 1);
  ASSERT_TRUE(
      runtime().wait(runtime().submit(op, {in.view()}, out.view()), kDeadline));
  EXPECT_TRUE(odd.are_there());
  const std::vector<float> values = out.read();
  EXPECT_EQ(bits(values[0]), bits(kHalf));
}

TEST_P(OperatorFloats, AnOperatorsSettingsEndWithItsTask) {
  if (!is_host()) GTEST_SKIP() << "a device has no such settings";
  const Operator odd = runtime().define(
      {.name = "odd",
       .source =
           "#include <cfenv>\n"
           "GPUOS_OPERATOR(odd) {\n"
           "  std::fesetround(FE_TOWARDZERO);\n"
           "#if defined(__SSE2__)\n"
           "  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);\n"
           "#endif\n"
           "}",
       .inputs = 0,
       .elementwise = false});
  DeviceArray<float> out(runtime(), 64);
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < 64; ++i)
      runtime().submit(odd, {}, out.view(i, 1));
    expect_usual("after an operator that changed them");
  }
}

// A library that is linked with -ffast-math does this.
TEST_P(OperatorFloats, AConstructorsSettingsEndWithIt) {
  if (!is_host()) GTEST_SKIP() << "a device has no constructors";
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  runtime().define({.name = "constructs",
                    .source = "#include <cfenv>\n"
                              "struct A {\n"
                              "  A() { std::fesetround(FE_TOWARDZERO); }\n"
                              "} a;\n"
                              "GPUOS_OPERATOR(constructs) {}",
                    .inputs = 0,
                    .elementwise = false});
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
  expect_usual("after a definition that changed them");
}

GPUOS_INSTANTIATE_CONTRACT(OperatorFloats);

}  // namespace
}  // namespace gpuos
