// Each function, in an operator of either backend, against the same table.
#include <gtest/gtest.h>

#include <string>

#include "contract.h"
#include "device/functions.h"
#include "functions_support.h"

namespace gpuos {
namespace {

struct Bounds {
  double host;
  double device;
  double of_double;
};

class OperatorFunctions : public Contract {
 protected:
  template <typename T>
  Operator define(const std::vector<std::string>& names, int inputs) {
    const bool is_float = sizeof(T) == 4;
    return runtime().define(
        {.name = "functions",
         .source = functions_source("functions", is_float ? "float" : "double",
                                    names, inputs),
         .params = {{"which", DType::Int32}},
         .dtypes = {is_float ? DType::Float32 : DType::Float64},
         .inputs = inputs});
  }

  /// `got` is the result of `name` for `in`. `reference` and `direct`, the same
  /// in this process, take an index. The host's two are the same bits.
  template <typename T, typename Reference, typename Direct>
  void check(const std::string& name, const std::vector<T>& got,
             const std::vector<T>& in, const Bounds& bounds,
             Reference reference, Direct direct) {
    const double of_float = is_host() ? bounds.host : bounds.device;
    const double bound = sizeof(T) == 8 ? bounds.of_double : of_float;
    int wrong = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const bool is_right =
          is_close(name, got[i], reference(i), bound, in[i]) &&
          (!is_host() || ulps_between(got[i], direct(i)) == 0);
      if (!is_right && wrong++ == 0)
        ADD_FAILURE() << name << " of " << in[i] << " (number " << i << ") is "
                      << got[i] << ", not " << reference(i);
    }
    EXPECT_EQ(wrong, 0) << name;
  }

  template <typename T>
  void check_unary() {
    const Operator op = define<T>(unary_names(), 1);
    const std::vector<T> in = many_numbers<T>();
    const DeviceArray<T> arg(runtime(), in);
    const DeviceArray<T> out(runtime(), in.size());
    std::int32_t which = 0;
#define GPUOS_CHECK(name, reference, host, device, of_double) \
  runtime().submit(op, {arg.view()}, out.view(), {which++});  \
  check(                                                      \
      #name, out.read(), in, {host, device, of_double},       \
      [&](std::size_t i) -> Wide {                            \
        const Wide x = in[i];                                 \
        return reference;                                     \
      },                                                      \
      [&](std::size_t i) { return fn::name(in[i]); });
    GPUOS_EXACTNESS_OF_ONE(GPUOS_CHECK)
#undef GPUOS_CHECK
  }

  template <typename T>
  void check_binary() {
    const Operator op = define<T>(binary_names(), 2);
    std::vector<T> left;
    std::vector<T> right;
    many_pairs(left, right);
    const DeviceArray<T> first(runtime(), left);
    const DeviceArray<T> second(runtime(), right);
    const DeviceArray<T> out(runtime(), left.size());
    std::int32_t which = 0;
#define GPUOS_CHECK(name, reference, host, device, of_double)                 \
  runtime().submit(op, {first.view(), second.view()}, out.view(), {which++}); \
  check(                                                                      \
      #name, out.read(), left, {host, device, of_double},                     \
      [&](std::size_t i) -> Wide {                                            \
        const Wide a = left[i];                                               \
        const Wide b = right[i];                                              \
        return reference;                                                     \
      },                                                                      \
      [&](std::size_t i) { return fn::name(left[i], right[i]); });
    GPUOS_EXACTNESS_OF_TWO(GPUOS_CHECK)
#undef GPUOS_CHECK
  }
};

TEST_P(OperatorFunctions, OfOneFloatAreAsCloseAsTheTableSays) {
  check_unary<float>();
}
TEST_P(OperatorFunctions, OfOneDoubleAreAsCloseAsTheTableSays) {
  check_unary<double>();
}
TEST_P(OperatorFunctions, OfTwoFloatsAreAsCloseAsTheTableSays) {
  check_binary<float>();
}
TEST_P(OperatorFunctions, OfTwoDoublesAreAsCloseAsTheTableSays) {
  check_binary<double>();
}

GPUOS_INSTANTIATE_CONTRACT(OperatorFunctions);

}  // namespace
}  // namespace gpuos
