// An operator brings functions, constants, tables and stack along with its
// code.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "base/concat.h"
#include "contract.h"

namespace gpuos {
namespace {

class OperatorCall : public Contract {
 protected:
  /// Expects that `body` gives the double o[i] the value wanted(o[i], i). The
  /// scalar 1 is 2.5f.
  void check(const std::string& name, const std::string& before,
             const std::string& body,
             const std::function<double(double, int)>& wanted) {
    const Operator op = runtime().define(
        {.name = name,
         .source = concat(before, "GPUOS_OPERATOR(", name,
                          ") {\n  double* o = task.pointer<double>(0);\n"
                          "  for (gpuos::u32 i = lane.index(); i < task.count; "
                          "i += lane.count()) {\n",
                          body, "\n  }\n}\n"),
         .params = {{"scalar", DType::Float32}},
         .dtypes = {DType::Float64},
         .inputs = 0});
    std::vector<double> in(256);
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = 0.25 + 0.01 * static_cast<double>(i);
    const DeviceArray<double> out(runtime(), in);
    runtime().submit(op, {}, out.view(), {2.5});
    const std::vector<double> got = out.read();
    for (std::size_t i = 0; i < in.size(); ++i) {
      const double value = wanted(in[i], static_cast<int>(i));
      ASSERT_NEAR(got[i], value, 1e-12 * (1 + std::fabs(value))) << i;
    }
  }
};

TEST_P(OperatorCall, FunctionsThatAnOperatorCallsAreThere) {
  check("callee",
        "__device__ __attribute__((noinline)) double shift(double x) {\n"
        "  return x / 3;\n}\n",
        "o[i] = shift(o[i]) / (1 + i) + (100000000007LL + i) / (3LL + i);",
        [](double x, int i) {
          return x / 3 / (1 + i) +
                 static_cast<double>((100000000007LL + i) / (3LL + i));
        });
}

TEST_P(OperatorCall, SwitchesAndDoubleConstantsAreTheOperatorsOwn) {
  check("cases", "",
        "switch (i % 6) {\n"
        "  case 0: o[i] = sin(o[i]); break;\n"
        "  case 1: o[i] = exp(o[i]) * 3.14159265358979; break;\n"
        "  case 2: o[i] = cbrt(o[i]); break;\n"
        "  case 3: o[i] = tanh(o[i]); break;\n"
        "  case 4: o[i] = o[i] * 1.7; break;\n"
        "  case 5: o[i] = log(o[i]); break;\n"
        "}",
        [](double x, int i) {
          const double all[] = {std::sin(x),  std::exp(x) * 3.14159265358979,
                                std::cbrt(x), std::tanh(x),
                                x * 1.7,      std::log(x)};
          return all[i % 6];
        });
}

TEST_P(OperatorCall, ScalarsTablesAndStackAreTheOperatorsOwn) {
  check("table",
        "static __device__ const double table[5] = {1, 2, 4, 8, 16};\n",
        "volatile double v[40];\n"
        "for (int k = 0; k < 40; ++k) v[k] = o[i] + k;\n"
        "o[i] = v[i % 40] * task.scalar<float>(1) + table[i % 5];",
        [](double x, int i) {
          return (x + i % 40) * 2.5 + std::pow(2.0, i % 5);
        });
}

GPUOS_INSTANTIATE_CONTRACT(OperatorCall);

}  // namespace
}  // namespace gpuos
