#include "jit/compile_log.h"

#include <gtest/gtest.h>

namespace gpuos::jit {
namespace {

TEST(CompileLog, FirstErrorHasAPlaceAndAnExcerpt) {
  const FirstError error = first_error(
      "axpy.cu(2): warning #549-D: unused\n"
      "  int y;\n"
      "      ^\n\n"
      "axpy.cu(3): error: identifier \"foo\" is undefined\n"
      "  \t  x[0] = foo;\n"
      "  \t         ^\n\n"
      "1 error detected in the compilation of \"axpy.cu\".\n");
  EXPECT_EQ(error.line, "axpy.cu:3: error: identifier \"foo\" is undefined");
  EXPECT_EQ(error.place.file, "axpy.cu");
  EXPECT_EQ(error.place.line, 3);
  EXPECT_EQ(error.place.column, 11);
  EXPECT_EQ(error.place.excerpt, "\t  x[0] = foo;\n\t         ^");
}

TEST(CompileLog, TypeThatIsUnknownGoesBeforeWhatFollowsFromIt) {
  const FirstError error = first_error(
      "k.cu(2): error: attribute \"__global__\" does not apply here\n"
      "  __global__ void k(foo_t* s) {}\n"
      "  ^\n\n"
      "k.cu(2): error: incomplete type \"void\" is not allowed\n"
      "k.cu(2): error: identifier \"foo_t\" is undefined\n"
      "  __global__ void k(foo_t* s) {}\n"
      "                    ^\n");
  EXPECT_EQ(error.line, "k.cu:2: error: identifier \"foo_t\" is undefined");
  EXPECT_EQ(error.place.column, 19);
}

TEST(CompileLog, ErrorOfAHostCompilerHasAPlaceAndAColumn) {
  const FirstError error = first_error(
      "cell 3: In function 'int error()':\n"
      "cell 3:4:7: error: 'y' was not declared\n"
      "    4 |   x = y;\n"
      "      |       ^\n");
  EXPECT_EQ(error.line, "cell 3:4:7: error: 'y' was not declared");
  EXPECT_EQ(error.without_column(), "cell 3:4: error: 'y' was not declared");
  EXPECT_EQ(error.place.file, "cell 3");
  EXPECT_EQ(error.place.line, 4);
  EXPECT_EQ(error.place.column, 7);
  EXPECT_EQ(excerpt_of("a\nb\nc\n  x = y;\n", error.place),
            "  x = y;\n      ^");
  EXPECT_EQ(first_error("a.h:3: fatal error: no b.h").place.line, 3);
  EXPECT_EQ(first_error("collect2: error: ld ended\n").place.line, 0);
}

TEST(CompileLog, ErrorWithoutAPlaceIsTheLine) {
  const FirstError error =
      first_error("\nptxas fatal   : Unresolved extern function '_Z1gi'\n");
  EXPECT_EQ(error.line, "ptxas fatal   : Unresolved extern function '_Z1gi'");
  EXPECT_EQ(error.place.line, 0);
  EXPECT_EQ(error.place.excerpt, "");
}

TEST(CompileLog, NoErrorIsTheFirstLine) {
  EXPECT_EQ(first_error("something\nelse\n").line, "something");
  EXPECT_EQ(first_error("").line, "no message");
}

TEST(CompileLog, ParenthesesInTheTextAreNoPlace) {
  const FirstError error = first_error("nvrtc: error: invalid value (-arch)");
  EXPECT_EQ(error.place.line, 0);
  EXPECT_EQ(error.line, "nvrtc: error: invalid value (-arch)");
}

TEST(CompileLog, MissingHeaderIsNamed) {
  EXPECT_EQ(missing_header("a.cu:1: catastrophic error: could not open source "
                           "file \"cuda_fp16.h\" (no directories)"),
            "cuda_fp16.h");
  EXPECT_EQ(missing_header("a.cu:1: error: something else"), "");
}

TEST(CompileLog, WrongNameExpressionMayBeCut) {
  const std::string log = "Input name expression was: \"";
  EXPECT_EQ(wrong_name_expression(log + "  k<int \"\n"), "k<int ");
  EXPECT_EQ(wrong_name_expression(log + "k<int"), "k<int");
  EXPECT_EQ(wrong_name_expression(log + "  "), "");
  EXPECT_EQ(wrong_name_expression(log), "");
}

}  // namespace
}  // namespace gpuos::jit
