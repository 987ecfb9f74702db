// The interpreter is what an expression means; both backends must agree with
// it bit for bit where no function of the C library is used.
#include <algorithm>
#include <limits>

#include "contract.h"
#include "expression_support.h"

namespace gpuos {
namespace {

class RuntimeExpressions : public Contract {
 protected:
  template <typename T>
  static std::vector<T> values(std::size_t count, unsigned seed) {
    using Limits = std::numeric_limits<T>;
    std::vector<T> special{0, 1, -1, 2, -7, Limits::max(), Limits::lowest()};
    if constexpr (std::is_floating_point_v<T>) {
      special.insert(
          special.end(),
          {T(-0.0), T(0.5), T(1.5), T(2.5), T(-2.75), Limits::infinity(),
           -Limits::infinity(), Limits::quiet_NaN(), Limits::denorm_min()});
    }
    std::vector<T> result(count);
    for (T& value : result) {
      seed = seed * 1664525u + 1013904223u;
      const unsigned pick = seed >> 16;
      value = pick % 2 == 0 ? special[pick / 2 % special.size()]
                            : static_cast<T>(static_cast<int>(pick) - 32768) /
                                  static_cast<T>(16);
    }
    return result;
  }

  template <typename T>
  void expect_interpreted(const std::string& text, std::size_t count,
                          std::size_t skip) {
    const std::vector<BoundParam> params{
        BoundParam::make("k", T{3}), BoundParam::make("n", std::int64_t{5})};
    std::vector<Parameter> declared;
    for (const BoundParam& param : params) declared.push_back(param.param);
    const Operator op = runtime().define({.name = "e",
                                          .expression = text,
                                          .params = declared,
                                          .dtypes = {kDTypeOf<T>}});
    const Expression expression = parse_expression(text, declared);
    std::vector<std::vector<T>> inputs;
    std::vector<DeviceArray<T>> arrays;
    std::vector<TensorView> views;
    for (std::size_t k = 0; k < expression.inputs.size(); ++k) {
      inputs.push_back(values<T>(count, static_cast<unsigned>(k + 1)));
      std::vector<T> shifted(skip + inputs[k].size());
      std::copy(inputs[k].begin(), inputs[k].end(), shifted.begin() + skip);
      arrays.emplace_back(runtime(), shifted);
      views.push_back(arrays.back().view(skip, count));
    }
    DeviceArray<T> out(runtime(), count);
    const std::vector<Scalar> scalars{Scalar(T{3}), Scalar(std::int64_t{5})};
    runtime().submit(op, views, out.view(), scalars);
    const std::vector<T> came = out.read();
    const std::vector<T> wanted =
        interpret_text<T>(text, inputs, count, params);
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_TRUE(is_same(came[i], wanted[i]))
          << text << ", element " << i << " of " << count << ": " << came[i]
          << ", expected " << wanted[i];
    runtime().undefine(op);
  }

  template <typename T>
  void expect_all() {
    std::vector<std::string> texts(std::begin(kPlainExpressions),
                                   std::end(kPlainExpressions));
    if constexpr (std::is_floating_point_v<T>)
      texts.insert(texts.end(), {"o = sqrt(a)", "o = a / b"});
    for (const std::string& text : texts) {
      expect_interpreted<T>(text, 1027, 0);
      if (HasFatalFailure()) return;
    }
    for (const std::size_t count : {1, 3, 4, 5, 4096, 70001}) {
      expect_interpreted<T>("o = a * 2 + b", count, 0);
      expect_interpreted<T>("o = a * 2 + b", count, 1);  // no packs
      expect_interpreted<T>("o = a + b * c", count, 0);
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(RuntimeExpressions, Float32IsWhatTheInterpreterSays) {
  expect_all<float>();
}
TEST_P(RuntimeExpressions, Float64IsWhatTheInterpreterSays) {
  expect_all<double>();
}
TEST_P(RuntimeExpressions, Int32IsWhatTheInterpreterSays) {
  expect_all<std::int32_t>();
}
TEST_P(RuntimeExpressions, Int64IsWhatTheInterpreterSays) {
  expect_all<std::int64_t>();
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeExpressions);

}  // namespace
}  // namespace gpuos
