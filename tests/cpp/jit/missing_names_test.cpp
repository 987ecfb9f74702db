#include "jit/missing_names.h"

#include <gtest/gtest.h>

#include <string>

namespace gpuos::jit {
namespace {

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
  EXPECT_NE(hint_for(no_member("vector")).find("cuda::std"), std::string::npos);
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
