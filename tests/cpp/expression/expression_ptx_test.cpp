#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/concat.h"
#include "expression/expression.h"
#include "expression_support.h"
#include "gpuos/error.h"
#include "jit/elf_resources.h"
#include "jit/operator_compiler.h"
#include "nvrtc_support.h"

namespace gpuos {
namespace {

constexpr DType kAll[] = {DType::Float32, DType::Float64, DType::Int32,
                          DType::Int64};

Expression parse(std::string_view text, std::vector<Parameter> params = {}) {
  return parse_expression(text, params);
}

std::string ptx(std::string_view text, DType dtype = DType::Float32,
                std::vector<Parameter> params = {}) {
  return expression_ptx(parse(text, std::move(params)), dtype, "e");
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(ExpressionPtx, MovesPacksOf16Bytes) {
  EXPECT_TRUE(has(ptx("o = a + b"), "ld.global.v4.f32 {%v0_4, "));
  EXPECT_TRUE(has(ptx("o = a + b", DType::Int64), "st.global.v2.s64 [%at]"));
}

TEST(ExpressionPtx, HasTwoPacksUnderWayOnlyWhereItIsCheap) {
  EXPECT_TRUE(has(ptx("o = a + b"), "%second"));
  for (const char* text : {"o = a + b + c", "o = a / b", "o = sqrt(a)"})
    EXPECT_FALSE(has(ptx(text), "%place2, ")) << text;
}

TEST(ExpressionPtx, NeverMergesAProductWithASum) {
  const std::string text = ptx("o = a * b + a");
  EXPECT_TRUE(has(text, "mul.rn.f32"));
  EXPECT_TRUE(has(text, "add.rn.f32"));
}

TEST(ExpressionPtx, ComputesOnceWhatIsTheSameForAllElements) {
  const std::string text =
      ptx("o = k * k + a", DType::Float32, {{"k", DType::Float64}});
  const std::size_t first = text.find("mul.rn.f32");
  EXPECT_LT(first, text.find("ld.global"));
  EXPECT_EQ(text.find("mul.rn.f32", first + 1), std::string::npos);
  EXPECT_TRUE(has(text, "ld.f64 %raw0, [%args+16]"));
  EXPECT_TRUE(has(text, "cvt.rn.f32.f64"));
}

TEST(ExpressionPtx, ConstantsAreExact) {
  EXPECT_TRUE(has(ptx("o = 0.1"), "0f3dcccccd;"));
  EXPECT_TRUE(has(ptx("o = -0.1", DType::Float64), "0dbfb999999999999a;"));
  EXPECT_TRUE(has(ptx("o = -2", DType::Int32), "0xfffffffe;"));
}

TEST(ExpressionPtx, LeavesTheRestToTheCompiler) {
  for (const char* text : {"o = exp(a)", "o = a ** b", "o = a // b",
                           "o = a % b", "o = sigmoid(a) + 1"})
    EXPECT_EQ(ptx(text), "") << text;
  EXPECT_EQ(ptx("o = a / b", DType::Int32), "");
  EXPECT_EQ(ptx("o = k * a", DType::Int32, {{"k", DType::Float32}}), "");
}

TEST(ExpressionPtx, ThrowsLikeTheSource) {
  EXPECT_THROW(ptx("o = sqrt(a)", DType::Int32), InvalidArgument);
  EXPECT_THROW(ptx("o = 0.5 * a", DType::Int64), InvalidArgument);
}

const std::vector<Parameter> kParams{{"k", DType::Int32}, {"n", DType::Int64}};

class ExpressionPtxCompiler : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  static jit::CompileRequest request_for(const std::string& text,
                                         std::vector<Parameter> params) {
    jit::CompileRequest request;
    request.file_name = "e.cu";
    request.budget = {.registers = 64, .stack_bytes = 1024};
    const Expression expression = parse(text, std::move(params));
    for (const DType dtype : kAll) {
      const std::string entry = concat("e_", name_of(dtype));
      std::string ptx;
      try {
        ptx = expression_ptx(expression, dtype, entry);
      } catch (const InvalidArgument&) {
        continue;
      }
      if (ptx.empty()) continue;
      request.ptx += ptx;
      request.entries.push_back(entry);
    }
    return request;  // without source: were the PTX not used, it would fail
  }

  // Registers and stack of the expression's first dtype.
  static jit::Resources compile(const std::string& text,
                                std::vector<Parameter> params = {}) {
    const jit::CompileRequest request = request_for(text, std::move(params));
    return jit::read_resources(jit::compile_operators(request).binary,
                               concat("gpuos_op_", request.entries.front()));
  }

  // Functions of the image that ptxas brought with it.
  static std::vector<std::string> helpers(const jit::CompileRequest& request) {
    std::vector<std::string> found;
    for (const std::string& name :
         jit::symbol_names(jit::compile_operators(request).binary)) {
      if (name.starts_with("__cuda")) found.push_back(name);
    }
    return found;
  }
};

TEST_F(ExpressionPtxCompiler, TakesEveryInstruction) {
  for (const char* text : kPlainExpressions)
    EXPECT_NO_THROW(compile(text, kParams)) << text;
  for (const char* text : {"o = sqrt(a)", "o = a / b"})
    EXPECT_NO_THROW(compile(text)) << text;
}

// Without a kernel the linker drops what only an operator calls.
TEST_F(ExpressionPtxCompiler, KeepsWhatPtxasCalls) {
  for (const char* text : kPlainExpressions) {
    const jit::CompileRequest request = request_for(text, kParams);
    jit::CompileRequest rooted = request;
    rooted.ptx += "// div.\n";  // looks as if it called something
    EXPECT_EQ(helpers(request), helpers(rooted)) << text;
    EXPECT_TRUE(jit::has_symbol(jit::compile_operators(rooted).binary,
                                "gpuos_link_root"));
  }
  const jit::CompileRequest divides = request_for("o = a / b", {});
  EXPECT_EQ(helpers(divides).size(), 2u) << "float32 and float64";
}

// A kernel in the image makes each load five times as long.
TEST_F(ExpressionPtxCompiler, LeavesTheKernelOut) {
  const jit::Image image =
      jit::compile_operators(request_for("o = 2 * a + b", {}));
  EXPECT_FALSE(jit::has_symbol(image.binary, "gpuos_link_root"));
}

TEST_F(ExpressionPtxCompiler, TakesEveryParameter) {
  EXPECT_NO_THROW(
      compile("o = a * k + n", {{"k", DType::Int32}, {"n", DType::Int64}}));
}

TEST_F(ExpressionPtxCompiler, AShortExpressionNeedsLittle) {
  const jit::Resources needs = compile("o = 2 * a + b");
  EXPECT_LE(needs.registers, 64u);
  EXPECT_LE(needs.stack_bytes, 8u);  // one register of the caller
  EXPECT_EQ(needs.constant_bytes, 0u);
}

}  // namespace
}  // namespace gpuos
