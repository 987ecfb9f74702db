// The parts of C's library that a GPU operator may use.
#include <gtest/gtest.h>

#include "compile_request.h"
#include "errors.h"
#include "gpuos/error.h"
#include "nvrtc_support.h"

namespace gpuos::jit {
namespace {

class OperatorLibrary : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  /// Returns the compiler's message for an operator with this body.
  static std::string message_of(const std::string& body,
                                const std::string& before = "") {
    return thrown_by<CompileError>([&] {
      compile_operators(request_for(
          "op",
          concat(before, "GPUOS_OPERATOR(op) {\n",
                 "  float** o = task.pointer<float*>(0);\n", body, "\n}\n")));
    });
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
  EXPECT_EQ(message_of(body), "");
  for (const char* header : {"cassert", "assert.h"})
    EXPECT_EQ(message_of(body, concat("#include <", header, ">\n")), "");
  for (const char* header : {"cstdio", "stdio.h"}) {
    const std::string text =
        message_of(body, concat("#include <", header, ">\n"));
    EXPECT_TRUE(says(text, "work without the #include")) << header;
  }
}

}  // namespace
}  // namespace gpuos::jit
