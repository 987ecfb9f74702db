// The standard headers that NVRTC finds in gpuos say what the host's own say.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/headers/source_inputs.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"
#include "standard_claims.h"

namespace gpuos {
namespace {

std::string claims() {
  std::ifstream file(concat(GPUOS_SOURCE_DIR, "/tests/cpp/standard_claims.h"));
  return {std::istreambuf_iterator<char>(file), {}};
}

class StandardHeaders : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    GPUOS_SKIP_WITHOUT_NVRTC();
    const jit::Nvrtc& api = jit::nvrtc();
    try {
      jit::compile_unit(api, {.source = "", .options = {.std = GetParam()}},
                        jit::choose_target(api, 90, ""));
    } catch (const CompileError&) {
      GTEST_SKIP() << "this NVRTC has no " << GetParam();
    }
  }

  static void expect_compiles(const std::string& source) {
    const jit::Nvrtc& api = jit::nvrtc();
    jit::Object object;
    EXPECT_NO_THROW(object = jit::compile_unit(api,
                                               {.source = source,
                                                .file_name = "claims.cu",
                                                .options = {.std = GetParam()}},
                                               jit::choose_target(api, 90, "")))
        << source;
    EXPECT_EQ(object.log, "");
  }
};

TEST_P(StandardHeaders, AgreeWithTheHosts) {
  const std::string text = claims();
  ASSERT_NE(text.find("GPUOS_CLAIM"), text.npos);
  expect_compiles(text);
}

TEST_P(StandardHeaders, EachCompilesAloneAndTwice) {
  for (const jit::StandardHeader& header : jit::standard_headers()) {
    const std::string include = concat("#include <", header.name, ">\n");
    expect_compiles(concat(include, include));
  }
}

TEST_P(StandardHeaders, FunctionsAreCalledOnTheDevice) {
  expect_compiles(
      "#include <cmath>\n#include <limits>\n#include <cstdint>\n"
      "__global__ void k(float* x, double* y, int* n) {\n"
      "  x[0] = std::sin(x[1]) + std::abs(x[2]) + std::sinf(x[3]) + M_PI;\n"
      "  y[0] = std::pow(y[1], 2) + std::sqrt(n[0]) + std::tgamma(y[1]);\n"
      "  n[0] = std::isnan(x[0]) + std::signbit(y[0]) + std::abs(n[1]);\n"
      "  x[4] = std::numeric_limits<float>::infinity() + INFINITY;\n"
      "  n[2] = std::numeric_limits<std::int16_t>::max();\n"
      "}\n");
}

TEST_P(StandardHeaders, WhatNvccKnowsNeedsNoInclude) {
  expect_compiles(
      "__global__ void k(uint32_t* n, float* x) {\n"
      "  n[0] = INT_MAX - UINT8_MAX;\n"
      "  x[0] = M_PI + INFINITY + NAN;\n"
      "}\n");
}

TEST_P(StandardHeaders, ASourceMayDefineTheseNamesItself) {
  expect_compiles(
      "typedef unsigned long uint64_t;\n#define M_PI 3.14f\n"
      "struct INFINITY {};\n"
      "__global__ void k(uint64_t* n, float* x) { *n = 1; *x = M_PI; }\n");
}

std::string standard_name(const testing::TestParamInfo<const char*>& info) {
  return concat("cpp", info.param + 3);
}

INSTANTIATE_TEST_SUITE_P(Standards, StandardHeaders,
                         testing::Values("c++11", "c++14", "c++17", "c++20",
                                         "c++23"),
                         standard_name);

}  // namespace
}  // namespace gpuos
