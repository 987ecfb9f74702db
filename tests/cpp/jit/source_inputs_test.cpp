#include "jit/source_inputs.h"

#include <gtest/gtest.h>

#include "base/embedded.h"

namespace gpuos::jit {
namespace {

TEST(SourceInputs, EmbeddedHeadersAreNoOtherInput) {
  for (const char* source :
       {"", "#include \"gpuos/operator.h\"\nGPUOS_OPERATOR(f) {}\n",
        "  #  include <math.h>  // for sin\r\n", "#include \"math.h\"",
        "#\\\ninclude \"math.h\"\n", "// include what is needed\n",
        "/* #include \"/home/ada/mine.h\" */\n",
        "/*\n#include \"/home/ada/mine.h\"\n*/\n",
        "# /* */ include \"math.h\"\n", "int x = 1'000; // it's\n",
        "auto s = R\"(\n#include \"/home/mine.h\"\n)\";\n",
        "#if __has_include(<math.h>)\n#endif\n", "int embedding = 1;\n",
        "#line 1 \"axpy.cu\"\n"})
    EXPECT_TRUE(stands_alone(source)) << source;
}

TEST(SourceInputs, EmbeddedHeadersIncludeOnlyEachOther) {
  for (const EmbeddedFile& file : embedded_files())
    EXPECT_TRUE(stands_alone(file.text)) << file.name;
}

TEST(SourceInputs, WhateverMayOpenAFileIsOne) {
  for (const char* source :
       {"#include \"/home/ada/mine.h\"\n", "#include </home/ada/mine.h>\n",
        "%:include \"/home/ada/mine.h\"\n", "#inc\\\nlude \"/home/mine.h\"\n",
        "#inc\\  \nlude \"/home/mine.h\"\n", "#include NAME\n",
        "# /*\n*/ include \"/home/mine.h\"\n",
        "# /*\n// */ include \"/home/mine.h\"\n", "#include_next <math.h>\n",
        "#if __has_include(\"/home/ada/mine.h\")\n#endif\n",
        "#include \"math.h\" /*\n", "#embed \"/home/ada/data\"\n",
        "#include \"math.h\n", "#include",
        "auto s = \"\\\\\";\n#include \"/home/mine.h\"\n",
        "#define HAS __has_include\n#if HAS(\"/home/mine.h\")\n#endif\n",
        "#define H <mine.h>\n#if __has_include(H)\n#endif\n",
        "auto s = AR\"(\";\n#include \"/home/mine.h\"\n)\"",
        "int x = sizeof(__TIME__);\n"})
    EXPECT_FALSE(stands_alone(source)) << source;
}

TEST(SourceInputs, NameWithACommentIsInDoubt) {
  EXPECT_FALSE(includes_of("#include <a/* */b.h>\n"));
  EXPECT_FALSE(includes_of("#include <R\"(b.h)\">\n"));
  EXPECT_FALSE(includes_of("#if __has_include(<a/* */b.h>)\n#endif\n"));
  EXPECT_EQ(includes_of("#include \"a/* */b c.h\"\n"),
            std::vector<std::string>{"a/* */b c.h"});
}

TEST(SourceInputs, ConditionMayBeLong) {
  std::string source = "#if 1";
  for (int i = 0; i < 200'000; ++i) source += "||__has_include(<math.h>)";
  EXPECT_TRUE(stands_alone(source + "\n#endif\n"));
  EXPECT_FALSE(stands_alone(source + "||__has_include(H)\n#endif\n"));
}

}  // namespace
}  // namespace gpuos::jit
