// In which order groups of requests run.
#include "request_contract.h"
#include "requests/alias_analysis.h"
#include "requests/groups.h"
#include "requests/levels.h"

namespace gpuos {
namespace {

constexpr std::size_t kElems = 8;

/// Arrays that are never touched: only their addresses count.
class Levels : public ::testing::Test {
 protected:
  using Found = std::vector<std::vector<std::uint32_t>>;

  RequestOperand array(std::size_t index, std::size_t first = 0,
                       std::size_t count = kElems) {
    float* const base = memory_.data() + index * kElems;
    return {TensorView(base + first, static_cast<std::int64_t>(count),
                       DType::Float32),
            base};
  }
  // A request that joins no group: of rows that nothing else is the sum of.
  void add_row(std::size_t out, std::size_t in, std::size_t count = kElems) {
    RequestOperand to = array(out);
    to.view.shape[0] = 1;
    list_.add(Function::Sum, to, {array(in, 0, count)},
              {.axes = 1, .keepdims = true});
  }

  bool are_independent(bool owners_are_disjoint = false) {
    requests::RequestArrays arrays;
    arrays.begin(list_.requests(), list_.views());
    aliases_.begin(arrays, owners_are_disjoint);
    aliases_.finish(arrays, owners_are_disjoint);
    list_.clear();
    return aliases_.are_independent();
  }

  /// The first request of each group, level by level.
  Found find() {
    requests::RequestArrays arrays;
    arrays.begin(list_.requests(), list_.views());
    aliases_.begin(arrays, false);
    aliases_.finish(arrays, false);
    groups_.run(arrays, aliases_);
    levels_.run(arrays, aliases_, groups_);
    Found found;
    for (std::size_t level = 0; level < levels_.count(); ++level) {
      found.emplace_back();
      for (const requests::Group* group : levels_.at(level))
        found.back().push_back(group->first);
    }
    list_.clear();
    return found;
  }

  std::array<float, 64 * kElems> memory_{};
  RequestList list_;
  requests::AliasAnalysis aliases_;
  requests::Groups groups_;
  requests::Levels levels_;
};

TEST_F(Levels, IndependentChainsAdvanceTogether) {
  for (std::size_t chain = 0; chain < 3; ++chain)
    for (std::size_t step = 0; step < 2; ++step)
      add_row(10 * chain + step + 1, 10 * chain + step);
  EXPECT_EQ(find(), (Found{{0, 2, 4}, {1, 3, 5}}));
}

TEST_F(Levels, AChainAloneKeepsItsOrder) {
  for (std::size_t step = 0; step < 4; ++step) add_row(step + 1, step);
  EXPECT_EQ(find(), (Found{{0}, {1}, {2}, {3}}));
}

TEST_F(Levels, ReadersOfOneArrayShareALevel) {
  for (std::size_t reader = 1; reader < 4; ++reader)
    add_row(reader, 0, kElems - reader);
  EXPECT_EQ(find(), (Found{{0, 1, 2}}));
}

TEST_F(Levels, AWriteComesAfterReadersOfWhatWasThere) {
  add_row(1, 0);
  add_row(2, 1);  // two levels, so that its reader is late
  add_row(3, 2);
  add_row(4, 2);
  add_row(2, 5);
  EXPECT_EQ(find(), (Found{{0}, {1}, {2, 3}, {4}}));
}

TEST_F(Levels, AWriteComesAfterAnEarlierOne) {
  add_row(1, 0);
  add_row(1, 2);
  add_row(3, 1);
  EXPECT_EQ(find(), (Found{{0}, {1}, {2}}));
}

TEST_F(Levels, AGroupIsAsLateAsItsLastInput) {
  add_row(1, 0);
  add_row(2, 1);
  list_.add(Function::Negative, array(10), {array(3)}, kFresh);
  list_.add(Function::Add, array(11), {array(10), array(2)}, kFresh);
  add_row(12, 3);
  EXPECT_EQ(find(), (Found{{0, 4}, {1}, {2}}));
}

TEST_F(Levels, DisjointPartsOfOneArrayAreNoConflict) {
  const auto column = [&](std::int64_t first, std::int64_t count) {
    RequestOperand part = array(0, static_cast<std::size_t>(first));
    part.view = shaped(part.view, {4, count}, {4, 1});
    return part;
  };
  const auto row = [&](std::size_t index) { return array(0, 4 * index, 4); };
  for (std::size_t i = 0; i < 4; ++i)
    list_.add(Function::Negative, row(i), {array(10 + i, 0, 4)});
  EXPECT_EQ(find(), (Found{{0, 1, 2, 3}}));
  for (std::size_t i = 0; i < 4; ++i)
    list_.add(Function::Negative, row(i), {row(i / 2 * 2)});
  EXPECT_EQ(find(), (Found{{0, 2}})) << "two chains";
  for (std::int64_t i = 0; i < 4; ++i)
    list_.add(Function::Negative, column(i, 1), {column(i, 1)});
  list_.add(Function::Negative, array(0, 5, 1), {array(20, 0, 1)});
  EXPECT_EQ(find(), (Found{{0, 1, 2, 3}, {4}})) << "one element of a column";
  const auto plane = [&](std::size_t last) {
    RequestOperand part = array(0, last);
    part.view = shaped(part.view, {2, 2}, {4, 2});
    return part;
  };
  list_.add(Function::Negative, plane(0), {array(20, 0, 4)});
  list_.add(Function::Negative, plane(1), {array(20, 0, 4)});
  EXPECT_EQ(find(), (Found{{0, 1}})) << "of three axes";
  list_.add(Function::Negative, column(0, 2), {column(2, 2)});
  list_.add(Function::Negative, column(1, 2), {column(3, 1)});
  EXPECT_EQ(find(), (Found{{0}, {1}})) << "columns in common";
  for (std::size_t i = 0; i < 2; ++i)
    list_.add(Function::Copy, row(i), {array(10 + i, 0, 4)}, kFresh);
  list_.add(Function::Negative, array(1), {array(0)}, kFresh);
  list_.add(Function::Negative, array(2, 0, 4), {row(1)}, kFresh);
  EXPECT_EQ(find(), (Found{{0, 1}, {2}})) << "parts, and a reader of all";
  list_.add(Function::Negative, column(0, 1), {column(1, 1)});
  list_.add(Function::Negative, row(2), {array(20, 0, 4)});
  EXPECT_EQ(find(), (Found{{0}, {1}})) << "a row crosses a column";
}

TEST_F(Levels, OverlappingOwnersKeepTheOrderOfTheRequests) {
  list_.add(Function::Negative, array(0), {array(1)});
  list_.add(Function::Negative, array(2), {array(3)});
  RequestOperand alias = array(0, 2, 4);
  alias.owner = alias.view.data;
  list_.add(Function::Negative, alias, {array(3, 0, 4)});
  EXPECT_EQ(find(), (Found{{0}, {1}, {2}}));
}

TEST_F(Levels, RequestsThatShareOnlyWhatIsReadAreApart) {
  list_.add(Function::Exp, array(1), {array(0)});
  list_.add(Function::Add, array(2), {array(0), array(3)});
  list_.add(Function::Multiply, array(4), {array(4), 2.0});
  EXPECT_TRUE(are_independent());
}

TEST_F(Levels, RequestsThatMeetAnotherAreNotApart) {
  list_.add(Function::Exp, array(1), {array(0)});
  list_.add(Function::Exp, array(4, 0, 4), {array(3, 0, 4)});
  RequestOperand overlapping = array(4, 2, 4);
  overlapping.owner = overlapping.view.data;
  list_.add(Function::Negative, overlapping, {array(5, 0, 4)});
  EXPECT_FALSE(are_independent()) << "writes another's memory";
  add_row(1, 0);
  add_row(2, 0);
  EXPECT_FALSE(are_independent()) << "reduces the same rows";
}

TEST_F(Levels, OneOfManyThatMeetsAnotherIsFound) {
  const auto add_many = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      list_.add(Function::Add, array(2 * i), {array(2 * i + 1), array(63)});
  };
  for (const bool lie_apart : {false, true}) {
    for (const std::size_t count : {0, 1, 8, 31}) {
      add_many(count);
      EXPECT_TRUE(are_independent(lie_apart)) << count;
    }
    add_many(31);
    list_.add(Function::Exp, array(62), {array(0)});
    EXPECT_FALSE(are_independent(lie_apart))
        << "the last reads what the first wrote";
    add_many(31);
    list_.add(Function::Exp, array(63), {array(62)});
    EXPECT_FALSE(are_independent(lie_apart)) << "the last writes what all read";
    add_many(31);
    list_.add(Function::Exp, array(60), {array(62)});
    EXPECT_FALSE(are_independent(lie_apart)) << "two write the same";
    add_many(4);
    EXPECT_TRUE(are_independent(lie_apart))
        << "nothing is left of those before";
  }
}

}  // namespace
}  // namespace gpuos
