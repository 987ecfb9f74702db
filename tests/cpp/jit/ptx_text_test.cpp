#include "jit/objects/ptx_text.h"

#include <gtest/gtest.h>

#include "base/concat.h"

namespace gpuos::jit {
namespace {

constexpr std::string_view kHead = ".version 7.0\n.target sm_80, debug\n";

PtxFunction only_function(std::string_view text) {
  const PtxText read = read_ptx(concat(kHead, text));
  EXPECT_EQ(read.architecture, "80");
  EXPECT_EQ(read.functions.size(), 1u) << text;
  return read.functions.empty() ? PtxFunction{} : read.functions[0];
}

TEST(PtxTexts, EveryTypeHasItsPlaceInASignature) {
  for (const char kind : {'b', 'u', 's', 'f'}) {
    for (const auto& [bits, code] :
         {std::pair{8, "i"}, {16, "i"}, {32, "i"}, {64, "l"}, {128, "?"}}) {
      const std::string type = concat(".param .", kind, bits);
      EXPECT_EQ(only_function(concat(".func f(", type, " a);")).signature,
                concat("v", code));
      EXPECT_EQ(only_function(concat(".func (", type, " r) f;")).signature,
                code);
      EXPECT_EQ(only_function(concat(".func (", type, " r) f(", type, " a,\n",
                                     type, " b) {ret;}"))
                    .signature,
                concat(code, code, code));
    }
  }
  EXPECT_EQ(only_function(".func (.param .align 8 .b8 r[16]) f(.param .align 4 "
                          ".b8 a[12], .param .b32 b[3]);")
                .signature,
            "b16b12b12");
  EXPECT_EQ(only_function(".entry k(.param .u64 .ptr .global .align 4 a) {}")
                .signature,
            "vl");
  EXPECT_EQ(only_function(".func f();").signature, "v");
  EXPECT_EQ(only_function(".func f;").signature, "v");
}

TEST(PtxTexts, DirectivesBeforeAndAfterAFunctionAreRead) {
  struct Case {
    const char* text;
    bool is_kernel, is_defined, is_visible;
  };
  for (const Case& each : {
           Case{".visible .func f() { ret; }", false, true, true},
           Case{".weak .func f() { ret; }", false, true, true},
           Case{".func f() { ret; }", false, true, false},
           Case{".extern .func f();", false, false, false},
           Case{".visible .func f();", false, false, true},
           Case{".visible .entry f() .maxntid 32, 1, 1 { ret; }", true, true,
                true},
           Case{".visible .func f() .noreturn { ret; }", false, true, true},
           Case{".visible .global .b32 x = 3; .func f() { ret; }", false, true,
                false},
           Case{".visible .global .b32 x[2] = {1, 2}; .func f() {}", false,
                true, false},
       }) {
    const PtxFunction found = only_function(each.text);
    EXPECT_EQ(found.name, "f") << each.text;
    EXPECT_EQ(found.is_kernel, each.is_kernel) << each.text;
    EXPECT_EQ(found.is_defined, each.is_defined) << each.text;
    EXPECT_EQ(found.is_visible, each.is_visible) << each.text;
  }
}

TEST(PtxTexts, BodiesCommentsAndQuotesAreSkipped) {
  for (const char* hidden :
       {"// .func g();\n", "/* .func g(); */", ".file 1 \".func g(){\"\n",
        ".section .debug { .b8 1 }\n"})
    EXPECT_EQ(only_function(concat(hidden, ".func f() { { .func g; } }")).name,
              "f")
        << hidden;
}

TEST(PtxTexts, OtherTextsHaveNoFunctions) {
  for (const char* text :
       {"", "// .version 7.0", ".target sm_80\n.version 7.0\n", "int f();",
        "__global__ void k() {}", "o = x"})
    EXPECT_TRUE(read_ptx(text).architecture.empty()) << text;
  EXPECT_EQ(read_ptx(".version 8.0 .target sm_90a").architecture, "90a");
}

TEST(PtxTexts, EveryBeginningOfATextIsRead) {
  const std::string text =
      concat(kHead,
             "/* a */ .visible .func (.param .b32 r) f(.param .align 8 "
             ".b8 a[16]) { .file \"x\" { ret; } } // end");
  for (std::size_t bytes = 0; bytes <= text.size(); ++bytes)
    EXPECT_LE(read_ptx(text.substr(0, bytes)).functions.size(), 1u);
}

}  // namespace
}  // namespace gpuos::jit
