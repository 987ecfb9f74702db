#include "host/dependencies.h"

#include <gtest/gtest.h>

#include <string>

#include "base/concat.h"
#include "errors.h"
#include "host/temp_folder.h"

namespace gpuos::host {
namespace {

/// A file name as compilers write it for make.
std::string escaped(const std::string& path) {
  std::string text;
  for (const char c : path) {
    if (c == ' ' || c == '#' || c == '\\') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

TEST(Dependencies, AreFilesWithTheirStates) {
  const TempFolder own;
  const TempFolder others;
  for (const char* name : {"plain.h", "a b.h", "c#.h", "d$e.h", "f\\g.h"}) {
    SCOPED_TRACE(name);
    const std::string path = others.file(name);
    write_file(path, "1");
    const std::string all =
        dependencies_from(concat(own.file("o.so"), ": ", own.file("o.cpp"),
                                 " \\\n ", escaped(path), "\n"),
                          own.path());
    EXPECT_TRUE(all.ends_with(concat(" ", path, "\n"))) << all;
    EXPECT_FALSE(says(all, own.path()));
    EXPECT_TRUE(are_unchanged(all));
    write_file(path, "22");
    EXPECT_FALSE(are_unchanged(all));
  }
}

TEST(Dependencies, OfAMissingFileAreUnknown) {
  const TempFolder own;
  EXPECT_EQ(dependencies_from("o: /nowhere/x.h\n", own.path()), "");
  EXPECT_EQ(dependencies_from("o: relative.h\n", own.path()), "");
  for (const char* no_rule : {"", "\n", "words", "/tmp/x.h"})
    EXPECT_EQ(dependencies_from(no_rule, own.path()), "");
}

TEST(Dependencies, MayBeNone) {
  const TempFolder own;
  const std::string none =
      dependencies_from(concat("o: ", own.file("o.cpp")), own.path());
  EXPECT_TRUE(are_unchanged(none));
  EXPECT_FALSE(are_unchanged(""));
}

TEST(Dependencies, OfDamagedTextsAreChanged) {
  for (const char* text : {"x", "\n1 2.3\n", "\n/x\n", "\n1 2.3 /x", "\n\n\n"})
    EXPECT_FALSE(are_unchanged(text)) << text;
}

TEST(Dependencies, AreHiddenByWords) {
  for (const char* text :
       {"__TIME__", "x = __DATE__;", "__TIMESTAMP__", "#embed <x>",
        "asm(\".incbin \\\"x\\\"\");", "#if __has_include(<x>)"})
    EXPECT_TRUE(has_hidden_inputs(text)) << text;
  EXPECT_FALSE(has_hidden_inputs("#include <cmath>\nfloat f(float time);"));
}

}  // namespace
}  // namespace gpuos::host
