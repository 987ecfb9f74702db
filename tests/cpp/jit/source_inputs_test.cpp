#include "jit/headers/source_inputs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/embedded.h"
#include "gpuos/error.h"
#include "host/temp_folder.h"

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

TEST(SourceInputs, AnythingThatMayOpenAFileIsAnInput) {
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

class IncludeClosure : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = std::filesystem::path(folder()) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  std::string folder() const { return temp_.path(); }
  std::string digest(const std::string& source,
                     const std::vector<JitHeader>& headers = {}) const {
    const std::vector<std::string> dirs{folder()};
    return include_digest(source, headers, dirs, ".").value_or("");
  }

  host::TempFolder temp_;
};

TEST_F(IncludeClosure, EditedHeaderIsAnotherDigest) {
  write("a.h", "#include \"sub/b.h\"\n");
  write("sub/b.h", "#include \"c.h\"\n");
  write("sub/c.h", "int x = 1;\n");
  const std::string before = digest("#include \"a.h\"\n");
  EXPECT_NE(before, "");
  EXPECT_EQ(digest("#include \"a.h\"\n"), before);
  write("sub/c.h", "int x = 2;\n");
  EXPECT_NE(digest("#include \"a.h\"\n"), before);
}

TEST_F(IncludeClosure, HeaderThatAppearsIsAnotherDigest) {
  const std::string source = "#if __has_include(<late.h>)\n#endif\n";
  const std::string before = digest(source);
  write("late.h", "");
  EXPECT_NE(digest(source), before);
}

TEST_F(IncludeClosure, GivenHeaderComesFirst) {
  write("a.h", "int file;\n");
  const std::string with_file = digest("#include <a.h>\n");
  const std::string with_text =
      digest("#include <a.h>\n", {{"a.h", "int text;\n"}});
  write("a.h", "int other;\n");
  EXPECT_NE(digest("#include <a.h>\n"), with_file);
  EXPECT_EQ(digest("#include <a.h>\n", {{"a.h", "int text;\n"}}), with_text);
}

TEST_F(IncludeClosure, HeadersThatIncludeEachOtherEnd) {
  write("a.h", "#include \"b.h\"\n");
  write("b.h", "#include \"a.h\"\n");
  EXPECT_NE(digest("#include \"a.h\"\n"), "");
}

TEST_F(IncludeClosure, UnknownIncludesHaveNoDigest) {
  write("a.h", "#include NAME\n");
  EXPECT_EQ(digest("#include \"a.h\"\n"), "");
  EXPECT_EQ(digest("int x = sizeof(__TIME__);\n"), "");
}

TEST_F(IncludeClosure, SpecialFilesAreRefused) {
  const std::string pipe = folder() + "/pipe.h";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(digest("#include \"pipe.h\"\n"), CompileError);
  EXPECT_THROW(digest("#include \"/dev/zero\"\n"), CompileError);
  EXPECT_THROW(include_digest("#include \"" + pipe + "\"\n", {}, {}, ""),
               CompileError);
  std::filesystem::create_directory(folder() + "/vector");
  EXPECT_NE(digest("#include <vector>\n"), "");
}

}  // namespace
}  // namespace gpuos::jit
