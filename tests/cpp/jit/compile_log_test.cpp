#include "jit/toolkit/compile_log.h"

#include <gtest/gtest.h>

#include <string>

#include "errors.h"

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

TEST(CompileLog, UnknownTypeIsReportedBeforeItsConsequences) {
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

std::string hint_for(const std::string& log) {
  return name_hint(first_error(log), log);
}

std::string undefined(const std::string& name) {
  return "a.cu(1): error: identifier \"" + name + "\" is undefined\n";
}

std::string no_member(const std::string& name) {
  return "a.cu(1): error: namespace \"std\" has no member \"" + name + "\"\n";
}

TEST(MissingNames, UsualOnesAreThoseThatNvccKnows) {
  for (const char* name : {"uint32_t", "int8_t", "intptr_t", "M_PI", "INFINITY",
                           "NAN", "INT_MAX", "CHAR_BIT"})
    EXPECT_TRUE(misses_usual_name(undefined("x") + undefined(name))) << name;
  for (const char* name : {"uint33_t", "FLT_MAX", "pi", "uint32", "M_"})
    EXPECT_FALSE(misses_usual_name(undefined(name))) << name;
}

TEST(MissingNames, HintsAreOfTheFirstKnownName) {
  EXPECT_EQ(hint_for(undefined("x")), "");
  EXPECT_EQ(hint_for(undefined("x") + undefined("FLT_MAX")),
            "FLT_MAX: add #include <cfloat>");
  EXPECT_EQ(hint_for(no_member("sqrt")), "std::sqrt: add #include <cmath>");
  EXPECT_EQ(hint_for(no_member("uint8_t")),
            "std::uint8_t: add #include <cstdint>");
  EXPECT_EQ(hint_for(no_member("numeric_limits")),
            "std::numeric_limits: add #include <limits>");
  EXPECT_EQ(hint_for(no_member("is_same_v")),
            "std::is_same_v: add #include <type_traits>");
  EXPECT_EQ(hint_for(no_member("enable_if_t")),
            "std::enable_if_t: add #include <type_traits>");
  EXPECT_EQ(hint_for(no_member("max")),
            "std::max: CUDA C++ has max() without std::");
  EXPECT_TRUE(says(hint_for(no_member("vector")), "cuda::std"));
}

TEST(MissingNames, ANamespaceIsReadAtTheCaret) {
  EXPECT_EQ(hint_for("a.cu(2): error: name followed by \"::\" must be a class "
                     "or namespace name\n"
                     "    cub::BlockReduce<int, 4> x;\n"
                     "    ^\n"),
            "cub: add #include <cub/cub.cuh>");
  EXPECT_EQ(hint_for("a.cu(2): error: name must be a namespace name\n"
                     "  namespace cg = mine;\n"
                     "                 ^\n"),
            "");
}

}  // namespace
}  // namespace gpuos::jit
