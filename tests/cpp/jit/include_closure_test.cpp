#include "jit/source_inputs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "gpuos/error.h"
#include "host/temp_folder.h"

namespace gpuos::jit {
namespace {

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

TEST_F(IncludeClosure, WhatCannotBeToldHasNoDigest) {
  write("a.h", "#include NAME\n");
  EXPECT_EQ(digest("#include \"a.h\"\n"), "");
  EXPECT_EQ(digest("int x = sizeof(__TIME__);\n"), "");
}

TEST_F(IncludeClosure, WhatIsNoPlainFileIsRefused) {
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
