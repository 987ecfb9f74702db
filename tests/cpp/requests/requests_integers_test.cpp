// Functions of integers of three widths, also at their limits.
#include <algorithm>
#include <limits>
#include <vector>

#include "request_support.h"

namespace gpuos {
namespace {

class IntegerContract : public Contract {
 protected:
  // Integers, exactly. `reference` is wrapped to T.
  template <typename T>
  void check_whole(Function function, DType dtype, std::vector<int> numbers,
                   std::int64_t (*reference)(std::int64_t, std::int64_t)) {
    const std::vector<T> values = {0,
                                   1,
                                   static_cast<T>(-1),
                                   2,
                                   3,
                                   7,
                                   static_cast<T>(-7),
                                   static_cast<T>(-8),
                                   std::numeric_limits<T>::max(),
                                   std::numeric_limits<T>::min()};
    const std::size_t count = values.size() * values.size();
    std::vector<T> a, b;
    for (std::size_t i = 0; i < count; ++i) {
      a.push_back(values[i % values.size()]);
      b.push_back(values[i / values.size()]);
    }
    const DeviceArray<T> x(runtime(), a), y(runtime(), b),
        out(runtime(), count);
    std::vector<RequestOperand> operands{operand_of(x, dtype)};
    if (numbers.empty()) operands.push_back(operand_of(y, dtype));
    for (const int number : numbers) operands.emplace_back(number);
    run_request(runtime(), function, operand_of(out, dtype), operands,
                {.compute = dtype});
    const auto got = out.read();
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(got[i], static_cast<T>(reference(a[i], b[i])))
          << "function " << static_cast<int>(function) << " of "
          << name_of(dtype) << " " << +a[i] << ", " << +b[i];
  }
};
GPUOS_INSTANTIATE_CONTRACT(IntegerContract);

TEST_P(IntegerContract, WholeNumbersGiveWhatPyTorchGives) {
  using I = std::int64_t;
  const auto check_all = [this]<typename T>(T, DType dtype) {
    const auto both = [&](Function function, I (*reference)(I, I)) {
      check_whole<T>(function, dtype, {}, reference);
    };
    using U = std::uint64_t;
    both(Function::Add, [](I a, I b) { return static_cast<I>(U(a) + U(b)); });
    both(Function::Subtract,
         [](I a, I b) { return static_cast<I>(U(a) - U(b)); });
    both(Function::Multiply,
         [](I a, I b) { return static_cast<I>(U(a) * U(b)); });
    both(Function::FloorDivide, [](I a, I b) -> I {
      if (b == 0) return 0;
      if (b == -1) return static_cast<I>(0 - U(a));
      return a / b - (a % b != 0 && (a < 0) != (b < 0));
    });
    both(Function::DivTrunc, [](I a, I b) -> I {
      if (b == 0) return 0;
      return b == -1 ? static_cast<I>(0 - U(a)) : a / b;
    });
    both(Function::TorchRemainder, [](I a, I b) -> I {
      if (b == 0 || b == -1) return 0;
      return a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
    });
    both(Function::Fmod,
         [](I a, I b) -> I { return b == 0 || b == -1 ? 0 : a % b; });
    both(Function::BitwiseAnd, [](I a, I b) { return a & b; });
    both(Function::BitwiseOr, [](I a, I b) { return a | b; });
    both(Function::BitwiseXor, [](I a, I b) { return a ^ b; });
    both(Function::Maximum, [](I a, I b) { return std::max(a, b); });
    both(Function::Minimum, [](I a, I b) { return std::min(a, b); });
    check_whole<T>(Function::Clamp, dtype, {-2, 5},
                   [](I a, I) { return std::clamp<I>(a, -2, 5); });
    check_whole<T>(Function::SubScaled, dtype, {7, 3},
                   [](I a, I) { return static_cast<I>(U(a) - 21); });
  };
  check_all(std::int32_t{}, DType::Int32);
  check_all(std::int64_t{}, DType::Int64);
  check_all(std::int8_t{}, DType::Int8);
}

}  // namespace
}  // namespace gpuos
