#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "contract.h"
#include "operator_support.h"

namespace gpuos {
namespace {

class RuntimeVersions : public Contract {
 protected:
  static OperatorDefinition plus(int k) {
    return {.expression = "o = x + " + std::to_string(k)};
  }
  /// Defines the same as a whole operator. There are few, because each is
  /// compiled once for all tests.
  static OperatorDefinition whole(const std::string& name, int k) {
    return whole_operator(name, "x[0] + " + std::to_string(k), 1);
  }
  float run(const Operator& op) {
    runtime().submit(op, {x_->view()}, out_->view());
    return out_->read()[0];
  }
  void SetUp() override {
    Contract::SetUp();
    if (IsSkipped()) return;
    x_.emplace(runtime(), 8, 0.0f);
    out_.emplace(runtime(), 8, -1.0f);
  }
  void TearDown() override {
    out_.reset();
    x_.reset();
  }

  std::optional<DeviceArray<float>> x_, out_;
};

// The body of each version by its number, and the previous version.
struct Model {
  struct Version {
    std::uint64_t number;
    int adds;
    std::uint64_t before;
  };
  std::vector<Version> kept{{1, 0, 0}};
  std::uint64_t last = 1;

  void add(int adds, std::uint64_t before) {
    kept.push_back({++last, adds, before});
    if (kept.size() > 8) kept.erase(kept.begin());
  }
  const Version* find(std::uint64_t number) const {
    const auto at = std::ranges::find(kept, number, &Version::number);
    return at == kept.end() ? nullptr : &*at;
  }
};

// A version may have additional parameters.
TEST_P(RuntimeVersions, FewerScalarsThanAVersionTakesAreCompleted) {
  const Parameter k{.name = "k"};
  const auto with = [&](const char* text, double b) {
    return OperatorDefinition{.name = "step",
                              .expression = text,
                              .params = {k, {.name = "b", .default_value = b}}};
  };
  const Operator op = runtime().define(
      {.name = "step", .expression = "o = x + k", .params = {k}});
  const auto run_with = [&](const Operator& target,
                            std::initializer_list<Scalar> params) {
    runtime().submit(target, {x_->view()}, out_->view(), params);
    return out_->read()[0];
  };
  EXPECT_EQ(run_with(op, {1}), 1);
  EXPECT_THROW(run_with(op, {1, 2}), InvalidArgument);
  runtime().replace(op, with("o = x + k + 10 * b", 3));
  EXPECT_EQ(op.params().size(), 2u);
  EXPECT_EQ(run_with(op, {1}), 31);
  EXPECT_EQ(run_with(op, {1, 2}), 21);
  EXPECT_THROW(run_with(op, {}), InvalidArgument);
  EXPECT_THROW(run_with(op, {1, 2, 3}), InvalidArgument);
  const Operator pinned = op.pinned();
  runtime().replace(op, with("o = x + k - 10 * b", 3));
  EXPECT_EQ(run_with(pinned, {1}), -29);  // the same parameters
  runtime().replace(op, with("o = x + k - 10 * b", 4));
  EXPECT_EQ(run_with(op, {1}), -39);
  EXPECT_THROW(run_with(pinned, {1}), Superseded);
  EXPECT_THROW(runtime().replace(pinned, plus(1)), InvalidArgument);
  runtime().rollback(op);
  EXPECT_EQ(run_with(pinned, {1}), -29);
  const Operator other =
      runtime().define({.name = "other",
                        .expression = "o = x + k",
                        .params = {{.name = "k", .default_value = 5}}});
  const Operator first = other.pinned();
  EXPECT_EQ(run_with(first, {}), 5);
  runtime().replace(other, {.expression = "o = x + k",
                            .params = {{.name = "k", .default_value = 6}}});
  EXPECT_EQ(run_with(other, {}), 6);
  EXPECT_THROW(run_with(first, {}), Superseded);
  runtime().undefine(op);
  EXPECT_THROW(run_with(pinned, {1}), InvalidArgument);
  EXPECT_THROW(run_with(op, {1}), InvalidArgument);
}

TEST_P(RuntimeVersions, AreThoseOfAModel) {
  constexpr int kSteps = 400, kBodies = 5;
  for (const unsigned seed : {1u, 2u, 3u}) {
    std::mt19937 dice(seed);
    const Operator op = runtime().define({"wave", "o = x + 0"});
    Model model;
    for (int step = 0; step < kSteps; ++step) {
      const int choice = static_cast<int>(dice() % 10);
      const int adds = static_cast<int>(dice() % kBodies);
      if (choice < 4) {
        const std::uint64_t before = model.last;
        const bool is_whole = choice == 0 && step % 8 == 0;
        const std::uint64_t number =
            runtime().replace(op, is_whole ? whole("wave", adds) : plus(adds));
        model.add(adds, before);
        ASSERT_EQ(number, model.last);
      } else {
        const std::uint64_t to = choice < 7 ? 0 : 1 + dice() % model.last;
        const Model::Version* back =
            model.find(to == 0 ? model.kept.back().before : to);
        if (back == nullptr) {
          ASSERT_THROW(runtime().rollback(op, to), InvalidArgument);
        } else {
          const Model::Version copy = *back;
          const std::uint64_t number = runtime().rollback(op, to);
          model.add(copy.adds, copy.before);
          ASSERT_EQ(number, model.last);
        }
      }
      const auto versions = op.versions();
      ASSERT_EQ(versions.size(), model.kept.size());
      for (std::size_t i = 0; i < versions.size(); ++i) {
        ASSERT_EQ(versions[i].number, model.kept[i].number);
        ASSERT_EQ(versions[i].before, model.kept[i].before);
        ASSERT_EQ(versions[i].is_current, i + 1 == versions.size());
      }
      ASSERT_EQ(run(op), static_cast<float>(model.kept.back().adds));
      ASSERT_THROW(runtime().rollback(op, 0, model.last + 1), InvalidArgument);
    }
    runtime().undefine(op);
    EXPECT_TRUE(op.versions().empty());
  }
}

TEST_P(RuntimeVersions, BuiltInOnesAreReplacedAndRestored) {
  const Operator add = runtime().find("add");
  const Operator own = runtime().builtin("add");
  const Alias alias = runtime().alias("sum", add);
  DeviceArray<float> x(runtime(), 8, 5.0f), y(runtime(), 8, 3.0f);
  DeviceArray<double> p(runtime(), 8, 5.0), q(runtime(), 8, 3.0);
  DeviceArray<double> wide(runtime(), 8);
  const auto sums = [&](const Operator& op) {
    runtime().submit(op, {x.view(), y.view()}, out_->view());
    runtime().submit(op, {p.view(), q.view()}, wide.view());
    return std::array<double, 2>{out_->read()[0], wide.read()[0]};
  };
  using Both = std::array<double, 2>;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(sums(add), (Both{8, 8}));
    runtime().replace(add, {.expression = "o = x * y"});
    EXPECT_EQ(sums(add), (Both{15, 15}));
    EXPECT_EQ(sums(alias.as_operator()), (Both{15, 15}));
    EXPECT_EQ(sums(own), (Both{8, 8}));
    const std::uint64_t number = runtime().restore(add);
    EXPECT_EQ(add.versions().back().number, number);
  }
  // A whole operator has one dtype.
  runtime().replace(add, whole_operator("add", "x[0] - x[1]", 2));
  runtime().submit(add, {x.view(), y.view()}, out_->view());
  EXPECT_EQ(out_->read()[0], 2.0f);
  EXPECT_THROW(runtime().submit(add, {p.view(), q.view()}, wide.view()),
               InvalidArgument);
  runtime().rollback(add);
  EXPECT_EQ(sums(add), (Both{8, 8}));
  // It is kept however often the name changes.
  for (int i = 0; i < 20; ++i)
    runtime().replace(add, {.expression = "o = x + y + " + std::to_string(i)});
  runtime().restore(add);
  EXPECT_EQ(sums(add), (Both{8, 8}));
  EXPECT_THROW(runtime().replace(add, plus(1)), InvalidArgument);
  EXPECT_THROW(runtime().undefine(add), InvalidArgument);
  OperatorDefinition filled =
      whole_operator("fill", "value", 0, DType::Float32, {"value"});
  const Operator fill = runtime().find("fill");
  filled.params[0].dtype = DType::Float64;
  EXPECT_THROW(runtime().replace(fill, filled), InvalidArgument);
  filled.params[0].dtype = DType::Float32;
  runtime().replace(fill, filled);
  runtime().submit(fill, {}, out_->view(), {2.5});
  EXPECT_EQ(out_->read()[0], 2.5f);
  EXPECT_THROW(runtime().restore(runtime().define({"mine", "o = x + 1"})),
               InvalidArgument);
  EXPECT_THROW(runtime().builtin("mine"), InvalidArgument);
}

TEST_P(RuntimeVersions, AChangeIsWholeOrNotAtAll) {
  const Operator a = runtime().define({"a", "o = x + 1"});
  const Operator b = runtime().define({"b", "o = x + 1"});
  const std::array<OperatorChange, 3> right{OperatorChange{plus(2), a},
                                            OperatorChange{whole("b", 2), b, 1},
                                            OperatorChange{{"c", "o = x + 2"}}};
  for (const Operator& op : runtime().change(right)) EXPECT_EQ(run(op), 2.0f);
  std::vector<OperatorChange> wrong(right.begin(), right.end());
  wrong[0].definition = plus(3);
  wrong[2].definition.name = "d";
  const auto is_refused = [&] {
    EXPECT_ANY_THROW(runtime().change(wrong));
    EXPECT_EQ(run(a), 2.0f);
    EXPECT_EQ(run(b), 2.0f);
    EXPECT_THROW(runtime().find("d"), InvalidArgument);
  };
  is_refused();  // of `b` another version is expected
  wrong[1].expected = 2;
  wrong[2].definition.name = "c";
  EXPECT_THROW(runtime().change(wrong), InvalidArgument);
  wrong[2].definition = {"d", "o = x +"};
  is_refused();
  wrong[2].definition = {.name = "d", .source = "GPUOS_OPERATOR(d) { no }"};
  is_refused();
  wrong[2] = {plus(4), a};
  is_refused();  // twice
}

// A source takes a slot for each version. All 1,024 slots would soon be used if
// old versions did not return theirs.
TEST_P(RuntimeVersions, OldOnesGiveTheirSlotsBack) {
  constexpr int kNames = 12, kRounds = 100;
  restart({.backend = GetParam(), .versions = 64});
  DeviceArray<float> x(runtime(), 8, 0.0f), out(runtime(), 8);
  std::vector<Operator> all;
  for (int i = 0; i < kNames; ++i)
    all.push_back(runtime().define(whole("many" + std::to_string(i), 0)));
  for (int round = 1; round <= kRounds; ++round)
    for (const Operator& op : all) {
      runtime().replace(op, whole(op.name(), round % 3));
    }
  std::size_t kept = 0;
  for (const Operator& op : all) {
    runtime().submit(op, {x.view()}, out.view());
    EXPECT_EQ(out.read()[0], static_cast<float>(kRounds % 3));
    kept += op.versions().size() - 1;
  }
  EXPECT_EQ(kept, 256u);
}

// Two operators change only together. A reader never sees the first one newer
// than the second one, which it reads later.
TEST_P(RuntimeVersions, TransactionsUnderLoadAreNotTorn) {
  constexpr std::size_t kReaders = 3, kTasks = 4'000, kSize = 64;
  const int changes = is_host() ? 10'000 : 3'000;
  const Operator a = runtime().define({"a", "o = x + 0"});
  const Operator b = runtime().define({"b", "o = x + 0"});
  DeviceArray<float> x(runtime(), kSize, 0.0f);
  DeviceArray<float> out(runtime(), kReaders * kTasks * 2 * kSize, -7.0f);
  std::atomic<bool> is_over{false};
  std::array<std::size_t, kReaders> rounds{};
  std::vector<std::jthread> readers;
  for (std::size_t r = 0; r < kReaders; ++r)
    readers.emplace_back([&, r] {
      while (!is_over) {
        const std::size_t at = (r * kTasks + rounds[r] % kTasks) * 2 * kSize;
        const bool is_first = rounds[r] % 2 == 0;
        runtime().submit(is_first ? a : b, {x.view()}, out.view(at, kSize));
        runtime().submit(is_first ? b : a, {x.view()},
                         out.view(at + kSize, kSize));
        ++rounds[r];
      }
    });
  for (int k = 1; k <= changes; ++k) {
    const bool has_slots = k % (changes / 4) == 0;
    const std::array<OperatorChange, 2> both{
        OperatorChange{plus(k), a},
        OperatorChange{has_slots ? whole("b", k) : plus(k), b}};
    runtime().change(both);
  }
  is_over = true;
  readers.clear();
  const std::vector<float> result = out.read();
  std::size_t seen = 0;
  for (std::size_t r = 0; r < kReaders; ++r)
    for (std::size_t i = 0; i < std::min(kTasks, rounds[r]); ++i) {
      const float* const first = &result[(r * kTasks + i) * 2 * kSize];
      const float* const second = first + kSize;
      for (std::size_t k = 0; k < kSize; ++k) {
        ASSERT_EQ(first[k], first[0]);
        ASSERT_EQ(second[k], second[0]);
      }
      ASSERT_GE(first[0], 0.0f);
      ASSERT_LE(first[0], second[0]) << "reader " << r << ", round " << i;
      ++seen;
    }
  EXPECT_GT(seen, 100u);
  EXPECT_EQ(run(a), static_cast<float>(changes));
  EXPECT_EQ(a.versions().back().number, changes + 1u);
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeVersions);

}  // namespace
}  // namespace gpuos
