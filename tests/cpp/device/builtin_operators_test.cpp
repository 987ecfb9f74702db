// The device file itself, read by the host compiler.
#include "device/builtin_operators.cu"

// The worker's own unit has it. The host has a different interpreter.
extern "C" void gpuos_op_program(gpuos::Task, gpuos::Lane) {}

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "gpuos/dtype.h"
#include "queue/operator_record.h"

namespace gpuos {
namespace {

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType kValue = DType::Float32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType kValue = DType::Float64;
};
template <>
struct DTypeOf<int> {
  static constexpr DType kValue = DType::Int32;
};
template <>
struct DTypeOf<long long> {
  static constexpr DType kValue = DType::Int64;
};

constexpr auto kAdd = BuiltinOperator::add;
constexpr auto kSub = BuiltinOperator::sub;
constexpr auto kMul = BuiltinOperator::mul;
constexpr auto kDiv = BuiltinOperator::div;
constexpr auto kCopy = BuiltinOperator::copy;
constexpr auto kFill = BuiltinOperator::fill;

template <typename T>
class BuiltinOperators : public testing::Test {
 protected:
  std::vector<T> run(BuiltinOperator op, std::vector<T> x, std::vector<T> y) {
    std::vector<T> out(x.size());
    u64 args[] = {bits(out.data()), bits(x.data()), bits(y.data())};
    if (op == kFill) std::memcpy(&args[1], &x[0], sizeof(T));
    const auto dtype = static_cast<u32>(DTypeOf<T>::kValue);
    const OpFn function = gpuos_builtin_table[slot_of(op, dtype)];
    function(Task{args, nullptr, static_cast<u32>(x.size())}, Lane{});
    return out;
  }

 private:
  static u64 bits(const T* p) { return reinterpret_cast<u64>(p); }
};

using Types = testing::Types<float, double, int, long long>;
TYPED_TEST_SUITE(BuiltinOperators, Types);

TYPED_TEST(BuiltinOperators, SlotIsFourTimesOperatorPlusDtype) {
  using V = std::vector<TypeParam>;
  const V x{8, -6, 7}, y{2, 3, 7};
  EXPECT_EQ(this->run(kAdd, x, y), (V{10, -3, 14}));
  EXPECT_EQ(this->run(kSub, x, y), (V{6, -9, 0}));
  EXPECT_EQ(this->run(kMul, x, y), (V{16, -18, 49}));
  EXPECT_EQ(this->run(kDiv, x, y), (V{4, -2, 1}));
  EXPECT_EQ(this->run(kCopy, x, y), x);
  EXPECT_EQ(this->run(kFill, x, y), (V{8, 8, 8}));
}

template <typename T>
class IntegerOperators : public BuiltinOperators<T> {};
using Integers = testing::Types<int, long long>;
TYPED_TEST_SUITE(IntegerOperators, Integers);

TYPED_TEST(IntegerOperators, WrapAndDivideAsNumPyDoes) {
  using V = std::vector<TypeParam>;
  constexpr TypeParam kLow = std::numeric_limits<TypeParam>::min();
  constexpr TypeParam kHigh = std::numeric_limits<TypeParam>::max();
  EXPECT_EQ(this->run(kAdd, V{kHigh}, V{1}), V{kLow});
  EXPECT_EQ(this->run(kSub, V{kLow}, V{1}), V{kHigh});
  EXPECT_EQ(this->run(kMul, V{kLow}, V{-1}), V{kLow});
  EXPECT_EQ(this->run(kDiv, V{-7, 7, 7, kLow}, V{2, -2, 0, -1}),
            (V{-4, -4, 0, kLow}));
}

}  // namespace
}  // namespace gpuos
