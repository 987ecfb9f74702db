#include "base/c_text.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace gpuos {
namespace {

// The tokens of a text, each after a letter for its kind.
std::vector<std::string> tokens_of(std::string_view text,
                                   CToken (CScanner::*next)()) {
  std::vector<std::string> found;
  CScanner scanner(text);
  for (CToken token = (scanner.*next)(); token.kind != CTokenKind::End;
       token = (scanner.*next)())
    found.push_back("EINTPDcts"[static_cast<std::size_t>(token.kind)] +
                    std::string(token.text));
  return found;
}

using Tokens = std::vector<std::string>;

TEST(CText, IsReadAsTokens) {
  for (const auto& [text, tokens] : std::vector<std::pair<const char*, Tokens>>{
           {"a_1 \xC3\xA4", {"Ia_1", "I\xC3\xA4"}},
           {"1'000 0x1p-3 .5f 4_km 1..2",
            {"N1'000", "N0x1p-3", "N.5f", "N4_km", "N1..2"}},
           {"a<<<b>>>::c->*d->e<<=",
            {"Ia", "P<<<", "Ib", "P>>>", "P::", "Ic", "P->*", "Id", "P->", "Ie",
             "P<", "P<", "P="}},
           {"u8\"a\\\"b\"s L'\\'' x'y'",
            {"Tu8\"a\\\"b\"s", "TL'\\''", "Ix", "T'y'"}},
           {"LR\"-(\")\n//)-\"_s AR\"(\"",
            {"TLR\"-(\")\n//)-\"_s", "IAR", "T\"(\""}},
           {"a/* \" */b//\"\\\n c\n/d", {"Ia", "Ib", "P/", "Id"}},
           {"a\\ \t\nb", {"Ia", "Ib"}},
           {"\"a\\\nb\\ \nc\"", {"T\"a\\\nb\\ \nc\""}},
           {" # if A \\\n B // c\nd#e",
            {"D# if A \\\n B // c", "Id", "P#", "Ie"}},
           {"/* */ %:include <a//b>\n#error don't\nc",
            {"D%:include <a//b>", "D#error don't", "Ic"}},
           {"#define S R\"(\n#)\" /*\n*/ 1\na",
            {"D#define S R\"(\n#)\" /*\n*/ 1", "Ia"}},
           {"a /* b", {"Ia", "c/* b"}},
           {"# a /* b", {"D# a ", "c/* b"}},
           {"'a\nb \"\\", {"t'a", "Ib", "t\"\\"}},
           {"R\"(a\nb", {"sR\"(a", "Ib"}},
       }) {
    EXPECT_EQ(tokens_of(text, &CScanner::next), tokens) << text;
    Tokens directives = tokens;
    std::erase_if(directives, [](const std::string& token) {
      return token[0] != 'D' && token[0] != 'c' && token[0] != 's';
    });
    EXPECT_EQ(tokens_of(text, &CScanner::next_directive), directives) << text;
  }
}

TEST(CText, LiteralsHaveSuffixes) {
  for (const auto& [text, suffix] : {std::pair{"4_km", "_km"},
                                     {"\"x\"_km", "_km"},
                                     {"R\"(x)\"s", "s"},
                                     {"4f", ""},
                                     {"x_y", ""},
                                     {"#define x 4_km", ""}})
    EXPECT_EQ(CScanner(text).next().suffix, suffix) << text;
}

TEST(CText, MoreLettersMakePartsOfNames) {
  CScanner scanner(".b32 %r1", CScanner::Begin::InLine, "%.");
  EXPECT_EQ(scanner.next().text, ".b32");
  EXPECT_EQ(scanner.next().text, "%r1");
}

TEST(CText, NamesAreWhole) {
  EXPECT_TRUE(is_identifier("_a1"));
  for (const char* other : {"", "1a", "a b", "a-", "\xC3\xA4"})
    EXPECT_FALSE(is_identifier(other));
  EXPECT_TRUE(has_name("ab(a)", "a"));
  EXPECT_FALSE(has_name("ab ba", "a"));
}

}  // namespace
}  // namespace gpuos
