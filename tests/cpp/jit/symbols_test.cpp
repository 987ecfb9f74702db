#include "jit/symbols.h"

#include <gtest/gtest.h>

#include "errors.h"
#include "gpuos/error.h"
#include "jit/module_compiler.h"
#include "nvrtc_support.h"

namespace gpuos::jit {
namespace {

using Types = std::vector<std::string>;

TEST(Symbols, PlainNamesStayAsTheyAre) {
  EXPECT_EQ(demangled("f"), "f");
  EXPECT_EQ(demangled("_Z1kPfi"), "k(float*, int)");
}

TEST(Symbols, ParameterTypesAreThoseOfTheSource) {
  EXPECT_EQ(parameter_types("_Z1kPfi"), (Types{"float*", "int"}));
  EXPECT_EQ(parameter_types("_Z1kv"), Types{});
  EXPECT_EQ(parameter_types("_Z1kIfEvPT_N2ns4PairIifEE"),
            (Types{"float*", "ns::Pair<int, float>"}));
  EXPECT_EQ(parameter_types("k"), std::nullopt);
  EXPECT_EQ(parameter_types("_ZN2ns1xE"), std::nullopt);
}

constexpr const char* kSource = R"(
__device__ int counter;
template <typename T> __global__ void scale(T* x, T by) { x[0] *= by; }
extern "C" __global__ void plain(int* x) { x[0] = 1; }
__global__ void once(double* x) { x[0] = ++counter; }
__global__ void twice(double* x) { x[0] = 1; }
__global__ void twice(float* x) { x[0] = 1; }
namespace ns { __global__ void inner(float* x) { x[0] = 1; } }
)";

class ResolveName : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    GPUOS_SKIP_WITHOUT_NVRTC();
    module_ = compile_module({.source = kSource,
                              .name_expressions = {"scale<float>"},
                              .options = {.arch = GetParam()}},
                             std::nullopt);
  }
  std::string resolve(const char* name) const {
    return resolve_name(module_->image, name, "module.cu");
  }
  std::string refusal(const char* name) const {
    try {
      return resolve(name);
    } catch (const InvalidArgument& error) {
      return error.what();
    }
  }

  std::shared_ptr<const ModuleImage> module_;
};

TEST_P(ResolveName, NameExpressionsAndPlainNamesAreFound) {
  EXPECT_EQ(resolve("scale<float>"), "_Z5scaleIfEvPT_S0_");
  EXPECT_EQ(resolve("plain"), "plain");
  EXPECT_EQ(resolve("once"), "_Z4oncePd");
  EXPECT_EQ(resolve("ns::inner"), "_ZN2ns5innerEPf");
  EXPECT_EQ(resolve("counter"), "counter");
}

TEST_P(ResolveName, UnknownNamesAreRefusedWithTheKnownOnes) {
  EXPECT_TRUE(says(refusal("nce"), "plain"));
  EXPECT_TRUE(says(refusal("scale<int>"), "scale<float>, "));
  EXPECT_TRUE(says(refusal("twice"), "means 2 functions"));
}

INSTANTIATE_TEST_SUITE_P(Outputs, ResolveName,
                         testing::Values("sm_90", "compute_90"));

}  // namespace
}  // namespace gpuos::jit
