// Lazy arrays and fused functions, from C++ alone.
#include "gpuos/array.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "contract.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

class ArrayContract : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (runtime_ != nullptr) arrays_.emplace(runtime());
  }
  void TearDown() override { arrays_.reset(); }

  Array range(int count, const Shape& shape) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 0.0f);
    return arrays_->from(std::span<const float>(values), shape);
  }
  std::uint64_t submitted() { return runtime().stats().tasks_submitted; }

  std::optional<Arrays> arrays_;
};
GPUOS_INSTANTIATE_CONTRACT(ArrayContract);

TEST_P(ArrayContract, OperatorsAreOneTaskWhenTheResultIsRead) {
  const Array x = range(6, {2, 3});
  const std::uint64_t before = submitted();
  const Array y = sqrt(x * x + 1).sum();
  EXPECT_EQ(submitted(), before);
  double expected = 0;
  for (int i = 0; i < 6; ++i) expected += std::sqrt(i * i + 1.0);
  EXPECT_NEAR(y.item<float>(), expected, 1e-5);
  EXPECT_EQ(submitted(), before + 1);
}

TEST_P(ArrayContract, ShapesBroadcastAndAxesAreReduced) {
  const Array x = range(6, {2, 3});
  const Array row = arrays_->from({10.0f, 20.0f, 30.0f}, {3});
  const Array y = x + row;
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_EQ(y.sum(std::vector{0}).read<float>(),
            (std::vector<float>{23, 45, 67}));
  EXPECT_EQ(y.max(std::vector{-1}, true).shape(), (Shape{2, 1}));
  EXPECT_EQ((1 - x).read<float>(), (std::vector<float>{1, 0, -1, -2, -3, -4}));
  EXPECT_EQ(less(x, 2).any().item<bool>(), true);
}

TEST_P(ArrayContract, AFusedFunctionIsBuiltOnce) {
  int built = 0;
  const FusedFunction step([&](std::span<const Value> x) {
    ++built;
    return x[0] + x[1] * x[2];
  });
  Array x = arrays_->from({1.0, 2.0}, {2});
  const Array v = arrays_->from({1.0, -1.0}, {2});
  for (int i = 0; i < 10; ++i) x = step(x, v, 0.5);
  EXPECT_EQ(built, 1);
  EXPECT_EQ(x.read<double>(), (std::vector<double>{6, -3}));
  EXPECT_EQ(step(range(2, {2}), range(2, {2}), 2).read<float>(),
            (std::vector<float>{0, 3}));
  EXPECT_EQ(built, 2);
}

TEST_P(ArrayContract, AFusedFunctionMayAskForShapes) {
  int built = 0;
  const FusedFunction scaled([&](std::span<const Value> x) {
    ++built;
    return x[0] * ProgramBuilder::shape_of(x[0])[0];
  });
  EXPECT_EQ(scaled(range(2, {2})).read<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ(scaled(range(3, {3})).read<float>(), (std::vector<float>{0, 3, 6}));
  EXPECT_EQ(scaled(range(2, {2})).read<float>(), (std::vector<float>{0, 2}));
  EXPECT_EQ(built, 2);
}

TEST_P(ArrayContract, AFunctionOfManyArgumentsRunsAtOnce) {
  const FusedFunction total([](std::span<const Value> x) {
    Value sum = x[0];
    for (const Value& more : x.subspan(1)) sum = sum + more;
    return sum;
  });
  const Array x = range(3, {3});
  EXPECT_EQ(total(x + 1, x, x, 1, x, 2).read<float>(),
            (std::vector<float>{4, 8, 12}));
}

TEST_P(ArrayContract, AResultThatNobodyReadsIsNotComputed) {
  const Array x = range(4, {4});
  const std::uint64_t before = submitted();
  static_cast<void>(x + 1);
  {
    const Array unused = x * 2;
  }
  arrays_->run();
  EXPECT_EQ(submitted(), before);
}

// Releasing its operands may run code that reads another result.
TEST_P(ArrayContract, AnOperationThatIsBeingDestroyedIsNotTaken) {
  static std::size_t taken;
  class Ending : public LazyOperation {
   public:
    Ending(LazyOperations& all)
        : LazyOperation(all, nullptr, TensorView()), waiting_(all) {}
    ~Ending() override { taken = waiting_.take().size(); }

   protected:
    bool is_wanted() const noexcept override { return false; }

   private:
    LazyOperations& waiting_;
  };
  LazyOperations all(runtime());
  auto first = std::make_shared<Ending>(all);
  const auto second = std::make_shared<Ending>(all);
  all.add(*first);
  all.add(*second);
  first.reset();
  EXPECT_EQ(taken, 1u);
}

TEST_P(ArrayContract, OldValuesStayWhereANameIsBoundAgain) {
  Array x = range(3, {3});
  const Array old = x;
  for (int i = 0; i < 100; ++i) x = x + 1;
  EXPECT_EQ(x.read<float>(), (std::vector<float>{100, 101, 102}));
  EXPECT_EQ(old.read<float>(), (std::vector<float>{0, 1, 2}));
}

TEST_P(ArrayContract, AnErrorIsThatOfItsOwnArrays) {
  const Array x = range(3, {3});
  EXPECT_THROW(x + range(2, {2}), InvalidArgument);
  EXPECT_THROW(static_cast<void>(x.read<double>()), InvalidArgument);
  EXPECT_THROW(static_cast<void>(x.item<float>()), InvalidArgument);
  const FusedFunction first([](std::span<const Value> v) { return v[0]; });
  const std::vector<ArrayOperand> many(kMaxFusedArguments + 1, x);
  EXPECT_THROW(first.call(many), InvalidArgument);
  EXPECT_THROW(arrays_->from({1.0f}, {2}), InvalidArgument);
  const std::int64_t large = std::int64_t{1} << 62;
  EXPECT_THROW(arrays_->from(std::span<const float>(), {large, 4}),
               InvalidArgument);
  Arrays others(runtime());
  EXPECT_THROW(x + others.from({1.0f, 2.0f, 3.0f}, {3}), InvalidArgument);
  // Memory for the first is refused, and so is what needs it.
  const Array wide = arrays_->from({0.0f}, {1, 1});
  const FusedFunction spread([](std::span<const Value> v) {
    return ProgramBuilder::broadcast_to(
        v[0], std::vector<std::int64_t>{1 << 24, 1 << 24});
  });
  const Array huge = spread(wide);
  const Array after = huge * 2;
  const Array fine = x + 1;
  EXPECT_THROW(static_cast<void>(after.view()), std::exception);
  EXPECT_THROW(after + 1, std::exception);
  EXPECT_EQ(fine.read<float>(), (std::vector<float>{1, 2, 3}));
}

// Computes a random function of x, y and z. It reads each result at once, or
// all that the program still has at the end.
std::vector<std::vector<float>> random_values(unsigned seed,
                                              std::vector<Array> all,
                                              unsigned dropped, bool at_once) {
  std::mt19937 random(seed);
  for (int i = 0; i < 8; ++i) {
    const Array x = all[random() % all.size()];
    const Array y = all[random() % all.size()];
    const unsigned which = random() % 4;
    all.push_back(which == 0   ? x + y
                  : which == 1 ? maximum(x, y) * 2
                  : which == 2 ? x - y.max(std::vector{0})
                               : x - 0.5 * y);
    if (at_once) static_cast<void>(all.back().view());
  }
  std::vector<std::vector<float>> values;
  std::vector<Array> kept;
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((dropped >> i & 1) == 0) kept.push_back(all[i]);
  all.clear();
  for (const Array& array : kept) values.push_back(array.read<float>());
  return values;
}

TEST_P(ArrayContract, RunsThatAreAlikeHaveTheirOwnArraysAndResults) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    for (unsigned turn = 0; turn < 6; ++turn) {
      const Array x = range(6, {2, 3}) + static_cast<int>(turn);
      const Array y = turn % 3 == 1 ? x : range(6, {2, 3}) * 3;
      const Array z = range(3, {3}) - static_cast<int>(seed);
      arrays_->run();
      const unsigned dropped = turn < 3 ? 0x2f0 : 0x0f0;
      EXPECT_EQ(random_values(seed, {x, y, z}, dropped, false),
                random_values(seed, {x, y, z}, dropped, true))
          << "seed " << seed << ", turn " << turn;
    }
  }
}

TEST_P(ArrayContract, AFirstRunAndAKnownOneHaveErrorsForEachOperation) {
  for (const std::int64_t count : {1 << 24, 3, 1 << 24}) {
    const std::vector<float> ones(static_cast<std::size_t>(count), 1);
    const Array column =
        arrays_->from(std::span<const float>(ones), {count, 1});
    const Array row = arrays_->from(std::span<const float>(ones), {count});
    const Array fine = row + 1;
    const Array all = (column + row) * fine;
    if (count == 3) {
      EXPECT_EQ(all.read<float>(), std::vector<float>(9, 4));
    } else {  // more bytes than a processor can address
      EXPECT_THROW(static_cast<void>(all.view()), std::exception);
    }
    EXPECT_EQ(fine.read<float>()[0], 2);
  }
}

TEST_P(ArrayContract, AnEmptyResultIsAnOperand) {
  const Array none = arrays_->from(std::span<const float>(), {0, 3});
  EXPECT_EQ((none + 1).sum(std::vector{0}).read<float>(),
            (std::vector<float>{0, 0, 0}));
}

}  // namespace
}  // namespace gpuos
