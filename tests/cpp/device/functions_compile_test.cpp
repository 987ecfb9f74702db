// NVRTC compiles code here that only a GPU can run.
#include <gtest/gtest.h>

#include <string>

#include "base/concat.h"
#include "functions_support.h"
#include "gpuos/error.h"
#include "host/host_compiler.h"
#include "jit/nvrtc_api.h"
#include "jit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"

namespace gpuos {
namespace {

void expect_device_compiles(const std::string& source) {
  const jit::Nvrtc& api = jit::nvrtc();
  jit::Object object;
  ASSERT_NO_THROW(object = jit::compile_unit(
                      api, {.source = source, .file_name = "functions.cu"},
                      jit::choose_target(api, 80, "sm_80")));
  EXPECT_EQ(object.log, "");
}

std::string with_operator_header(const std::string& source) {
  return "#include \"gpuos/operator.h\"\n" + source;
}

// Every function of integers, and of complex numbers, in a template's body.
std::string others_source() {
  std::string text =
      "#include \"gpuos/functions.h\"\nusing namespace gpuos;\n"
      "template <typename T>\nGPUOS_DEVICE void integers(T* x, T a, T b) {\n";
  for (const char* name :
       {"add",     "sub",        "mul",        "floor_div", "floor_mod",
        "fmod",    "pow",        "maximum",    "minimum",   "fmax",
        "fmin",    "less",       "less_equal", "greater",   "greater_equal",
        "equal",   "not_equal",  "heaviside",  "bit_and",   "bit_or",
        "bit_xor", "shift_left", "shift_right"})
    text += concat("  *x++ = static_cast<T>(fn::", name, "(a, b));\n");
  for (const char* name :
       {"neg", "abs", "square", "reciprocal", "sign", "isnan", "isinf",
        "isfinite", "bit_not", "floor", "ceil", "trunc", "round"})
    text += concat("  *x++ = static_cast<T>(fn::", name, "(a));\n");
  text +=
      "}\ntemplate <typename T>\nGPUOS_DEVICE void complexes(Complex<T>* x, "
      "Complex<T> a, Complex<T> b, T* y) {\n";
  for (const char* name : {"add", "sub", "mul", "div"})
    text += concat("  *x++ = fn::", name, "(a, b);\n");
  for (const char* name :
       {"neg", "conj", "square", "reciprocal", "exp", "log", "sqrt"})
    text += concat("  *x++ = fn::", name, "(a);\n");
  for (const char* name :
       {"abs", "angle", "real", "imag", "isnan", "isinf", "isfinite"})
    text += concat("  *y++ = fn::", name, "(a);\n");
  return text +
         "  *y++ = fn::equal(a, b) + fn::not_equal(a, b);\n}\n"
         "GPUOS_OPERATOR(others) {\n"
         "  integers(task.pointer<int>(0), 1, 2);\n"
         "  integers(task.pointer<unsigned>(0), 1u, 2u);\n"
         "  integers(task.pointer<long long>(0), 1ll, 2ll);\n"
         "  integers(task.pointer<u64>(0), u64{1}, u64{2});\n"
         "  complexes(task.pointer<C64>(0), C64{1, 2}, C64{3, 4},\n"
         "            task.pointer<float>(1));\n"
         "  complexes(task.pointer<C128>(0), C128{1, 2}, C128{3, 4},\n"
         "            task.pointer<double>(1));\n}\n";
}

TEST(FunctionsOnTheDevice, OfRealNumbersCompile) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  for (const char* type : {"float", "double"}) {
    expect_device_compiles(with_operator_header(
        functions_source("unary", type, unary_names(), 1)));
    expect_device_compiles(with_operator_header(
        functions_source("binary", type, binary_names(), 2)));
  }
}

TEST(FunctionsOnTheDevice, OfIntegersAndComplexNumbersCompile) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  expect_device_compiles(with_operator_header(others_source()));
}

TEST(FunctionsOnTheHost, OfIntegersAndComplexNumbersCompile) {
  try {
    EXPECT_NO_THROW(host::compile_host_operator(
        {.source = others_source(), .entry = "others"}));
  } catch (const BackendUnavailable& error) {
    GTEST_SKIP() << error.what();
  }
}

}  // namespace
}  // namespace gpuos
