#include "session/device/header.h"

#include <gtest/gtest.h>

#include <string>

namespace gpuos::session {
namespace {

class SessionHeader : public testing::Test {
 protected:
  void put(const std::string& text) {
    const CellText cell{"cell " + std::to_string(++cells_), text};
    for (const Item& item : split_cell(cell, nullptr))
      header_.put(item, cell.name, journal_);
  }
  /// Returns the names of the selected items, in order.
  std::string selected(const std::set<std::string>& roots) {
    std::string names;
    for (const EntryPtr& entry : header_.select(roots, nullptr).entries)
      names += entry->item.name + " ";
    return names;
  }

  Header header_;
  Journal journal_;
  int cells_ = 0;
};

TEST_F(SessionHeader, AUnitIsGivenWhatItsNamesReach) {
  put("struct A { int x; }; struct B { A a; }; struct C { int y; };");
  put("__device__ B f(C c); __device__ int g(); __device__ A v;");
  EXPECT_EQ(selected({"g"}), "g ");
  EXPECT_EQ(selected({"f"}), "A B C f ");
  EXPECT_EQ(selected({"v", "unknown"}), "A v ");
}

TEST_F(SessionHeader, TheTextOfAUnitDoesNotGrowWithTheSession) {
  const auto cell = [](int i) {
    const std::string now = std::to_string(i);
    return "__device__ int f" + now + "(int x) { return x; } struct S" + now +
           " { int x; }; __device__ S" + now + " v" + now + ";";
  };
  for (int i = 0; i < 100; ++i) put(cell(i));
  const std::size_t early = header_.select({"f50", "v60"}, nullptr).text.size();
  for (int i = 100; i < 5000; ++i) put(cell(i));
  const std::size_t late =
      header_.select({"f4050", "v4060"}, nullptr).text.size();
  EXPECT_LT(late, early + 30);
}

TEST_F(SessionHeader, OperatorsComeWithTheTypesThatTheyTake) {
  put("struct A { int x; }; struct B { int x; };");
  put("__device__ A operator+(A l, A r); __device__ B operator+(B l, B r);");
  EXPECT_EQ(selected({"A"}), "A operator+ ");
}

TEST_F(SessionHeader, DirectivesComeAlwaysAndInOrder) {
  put("#define N 1\n#include \"gpuos/libm.h\"\n");
  put("struct A { int x[N]; };\n#define N 2\n");
  EXPECT_EQ(selected({}), "N  N N ");
  EXPECT_EQ(selected({"A"}), "N  A N N ");
  put("#include \"gpuos/libm.h\"\n#define N 2\n");
  EXPECT_EQ(selected({}), "N  N N ");
}

TEST_F(SessionHeader, RedefinitionsPrecedeTheirUsers) {
  put("struct A { int x; };");
  put("struct B { A a; };");
  put("struct C { int y; };");
  put("struct A { C c; };");
  EXPECT_EQ(selected({"B"}), "C A B ");
}

TEST_F(SessionHeader, OnlyWhatCallersSeeMakesANewVersion) {
  put("__device__ int f(int a);");
  const auto version = [&] { return header_.find_named("f").at(0)->version; };
  const std::uint64_t first = version();
  put("__device__ int f(int b) { return b; }");
  EXPECT_EQ(version(), first);
  put("__device__ int f(int b = 2);");
  EXPECT_NE(version(), first);
  const std::uint64_t second = version();
  put("__device__ int f(int b) { return 2; }");
  EXPECT_EQ(version(), second);
  put("__device__ float f(int b) { return 2; }");
  EXPECT_NE(version(), second);
  put("__device__ float f(float b) { return 2; }");
  EXPECT_EQ(header_.find_named("f").size(), 2u);
}

TEST_F(SessionHeader, AJournalUndoesItsEntries) {
  put("struct A { int x; };\n#define N 1\n");
  const std::string before = header_.select({"A"}, nullptr).text;
  journal_ = {};
  put("struct A { float x; }; struct B { A a; };\n#define N 2\n#define M 1\n");
  EXPECT_NE(header_.select({"A"}, nullptr).text, before);
  journal_.roll_back();
  EXPECT_EQ(header_.select({"A"}, nullptr).text, before);
  EXPECT_EQ(selected({"B", "M"}), "N ");
}

}  // namespace
}  // namespace gpuos::session
