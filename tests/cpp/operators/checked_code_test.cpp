// The code of a checked operator for a GPU, which can be read without one. It
// has no calls in a loop, and no comparison that the loop makes already.
#include <string>
#include <string_view>

#include "base/concat.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"
#include "operators/operator_definition.h"

namespace gpuos {
namespace {

/// PTX of the operator f whose loop has this body.
std::string code_of(const char* body, bool is_checked) {
  OperatorDefinition definition;
  definition.name = "f";
  definition.dtypes = {DType::Int32};
  definition.inputs = 2;
  definition.elementwise = false;
  definition.checked = is_checked;
  definition.source = concat(
      "GPUOS_OPERATOR(f) {\n"
      "  int* out = task.pointer<int>(0);\n"
      "  const int* x = task.pointer<const int>(1);\n"
      "  const int* y = task.pointer<const int>(2);\n"
      "  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())\n"
      "    ",
      body, ";\n}\n");
  std::string source =
      concat("#include \"gpuos/operator.h\"\n", definition.source);
  if (is_checked) {
    const CheckedSource checked = checked_source(definition);
    source = concat("#include \"gpuos/operator.h\"\n", checked.prelude,
                    checked.text);
  }
  const std::string ptx =
      jit::compile_unit(jit::nvrtc(), {.source = source, .file_name = "f.cu"},
                        jit::choose_target(jit::nvrtc(), 90, "compute_90"))
          .binary;
  const std::size_t begin = ptx.find("\n{", ptx.rfind("gpuos_op_f("));
  return ptx.substr(begin, ptx.find("\n}", begin) - begin);
}

std::size_t count(std::string_view code, std::string_view instruction) {
  std::size_t found = 0;
  for (std::size_t at = code.find(instruction); at != code.npos;
       at = code.find(instruction, at + 1))
    ++found;
  return found;
}

std::string checked_text(const char* source) {
  OperatorDefinition definition;
  definition.name = "f";
  definition.source = source;
  return checked_source(definition).text;
}

TEST(CheckedSource, DeclaresAPointerWhereverAStatementBegins) {
  constexpr const char* kAuto = "auto x = task.pointer<float>(0);";
  for (const char* before :
       {"", "{ ", "#define N 4\n", "switch (n) { case 1: ", "/* a */ ",
        "f(\"} //\"); ", "R\"(a\n)\"[0]; ", "if (a) // b\n  "}) {
    EXPECT_EQ(checked_text(
                  concat(before, "float* x = task.pointer<float>(0);").c_str()),
              concat(before, kAuto));
  }
  for (const char* other : {"return y * x = task.pointer<float>(0);",
                            "float *x = task.pointer<float>(0), *y;",
                            "// float* x = task.pointer<float>(0);",
                            "float* x = my_task.pointer<float>(0);",
                            "\"float* x = task.pointer<float>(0);\""})
    EXPECT_EQ(checked_text(other), other);
  EXPECT_EQ(checked_text("const A<B<C<int>>>*\nconst x = "
                         "task.pointer<const A<B<C<int>>>>(0);"),
            "auto \nx = task.pointer<const A<B<C<int>>>>(0);");
}

class CheckedCode : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }
};

TEST_F(CheckedCode, HasOneCallAfterTheLoop) {
  for (const char* body : {"out[i] = 2 * x[i]", "out[i] = x[i] + y[i]",
                           "out[i] = x[y[i]]", "out[x[i]] = y[i]"}) {
    SCOPED_TRACE(body);
    const std::string code = code_of(body, true);
    EXPECT_EQ(count(code, "call.uni"), 1u) << code;
    EXPECT_EQ(count(code_of(body, false), "call.uni"), 0u);
  }
}

TEST_F(CheckedCode, ComparesOutputsOutsideOfTheLoop) {
  // One more test after the loop decides whether to report a failure.
  const std::size_t plain = count(code_of("out[i] = 7", false), "setp");
  EXPECT_LE(count(code_of("out[i] = 7", true), "setp"), plain + 2);
  // An input whose length the task does not say, and an index.
  EXPECT_GT(count(code_of("out[i] = x[i]", true), "setp"), plain + 2);
}

}  // namespace
}  // namespace gpuos
