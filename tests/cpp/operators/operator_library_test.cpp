// The parts of C's library that a GPU operator may use.
#include <gtest/gtest.h>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/operator_compiler.h"
#include "nvrtc_support.h"

namespace gpuos::jit {
namespace {

class OperatorLibrary : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  /// Returns the compiler's message for an operator with this body.
  static std::string message_of(const std::string& body,
                                const std::string& before = "") {
    try {
      compile_operators(
          {.source = concat(before, "#include \"gpuos/operator.h\"\n",
                            "GPUOS_OPERATOR(op) {\n",
                            "  float** o = task.pointer<float*>(0);\n", body,
                            "\n}\n"),
           .file_name = "op.cu",
           .entries = {"op"},
           .compute_capability = 90,
           .budget = {.registers = 64, .stack_bytes = 1024}});
    } catch (const CompileError& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(OperatorLibrary, TheHeapIsRefused) {
  for (const char* body :
       {"*o = (float*)malloc(task.count);", "*o = new float[task.count];"})
    EXPECT_EQ(message_of(body), "op.cu: uses malloc, an operator has no heap");
  for (const char* body : {"free(*o);", "delete[] *o;"})
    EXPECT_EQ(message_of(body), "op.cu: uses free, an operator has no heap");
}

TEST_F(OperatorLibrary, PrintfAndAssertNeedNoHeader) {
  const std::string body =
      "assert(task.count > 0);\n"
      "if (lane.index() == 0) printf(\"%f\", **o);";
  EXPECT_EQ(message_of(body), "no error");
  for (const char* header : {"cassert", "assert.h"})
    EXPECT_EQ(message_of(body, concat("#include <", header, ">\n")),
              "no error");
  for (const char* header : {"cstdio", "stdio.h"}) {
    const std::string text =
        message_of(body, concat("#include <", header, ">\n"));
    EXPECT_NE(text.find("work without the #include"), text.npos)
        << header << text;
  }
}

TEST_F(OperatorLibrary, StandardHeadersAreThere) {
  EXPECT_EQ(message_of("uint32_t n = task.count;\n"
                       "if (n < INT_MAX) **o = M_PI + INFINITY;"),
            "no error");
  EXPECT_EQ(message_of("using T = std::remove_pointer_t<float*>;\n"
                       "**o = std::sin(std::numeric_limits<T>::max()) +\n"
                       "      std::uint8_t(task.count);",
                       "#include <cmath>\n#include <cstdint>\n"
                       "#include <limits>\n#include <type_traits>\n"),
            "no error");
}

}  // namespace
}  // namespace gpuos::jit
