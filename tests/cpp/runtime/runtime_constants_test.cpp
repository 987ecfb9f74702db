// Numbers reach an operator with the bits that they were given with.
#include <bit>
#include <cstdio>
#include <limits>
#include <random>

#include "contract.h"

namespace gpuos {
namespace {

class RuntimeConstants : public Contract {
 protected:
  static std::string text_of(double value) {
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.17g", value);
    // An integer would have no sign of 0.
    const std::string written = text.data();
    return written.find_first_of(".e") == written.npos ? written + ".0"
                                                       : written;
  }
  // Finite ones: a literal is never a NaN.
  static std::vector<double> literals() {
    using Limits = std::numeric_limits<double>;
    std::vector<double> values{0.0,
                               -0.0,
                               0.1,
                               Limits::denorm_min(),
                               -Limits::denorm_min(),
                               Limits::min(),
                               Limits::max(),
                               Limits::lowest(),
                               9007199254740993.0};
    std::mt19937_64 random(7);
    while (values.size() < 64) {
      const double value = std::bit_cast<double>(random());
      if (std::isfinite(value)) values.push_back(value);
    }
    return values;
  }
  template <typename T>
  T copied(const Operator& op, const Scalar& value) {
    DeviceArray<T> out(runtime(), 1);
    runtime().wait(runtime().submit(op, {}, out.view(), {&value, 1}),
                   kDeadline);
    return out.read()[0];
  }
  Operator copier(const std::string& name, const char* type, DType dtype) {
    return runtime().define(
        {.name = name,
         .source = "GPUOS_OPERATOR(" + name +
                   ") {\n  if (lane.index() == 0) *task.pointer<" + type +
                   ">(0) = task.scalar<" + type + ">(1);\n}",
         .params = {{"value", dtype}},
         .dtypes = {dtype},
         .inputs = 0});
  }
};

TEST_P(RuntimeConstants, LiteralsOfExpressionsKeepTheirBits) {
  const std::vector<double> values = literals();
  std::vector<OperatorDefinition> definitions;
  for (std::size_t i = 0; i < values.size(); ++i)
    definitions.push_back({.name = "times" + std::to_string(i),
                           .expression = "o = x * " + text_of(values[i]),
                           .dtypes = {DType::Float64}});
  const std::vector<Operator> operators = runtime().define_many(definitions);
  DeviceArray<double> one(runtime(), 1, 1.0), out(runtime(), 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    runtime().submit(operators[i], {one.view()}, out.view());
    EXPECT_EQ(std::bit_cast<std::uint64_t>(out.read()[0]),
              std::bit_cast<std::uint64_t>(values[i]))
        << values[i];
  }
}

TEST_P(RuntimeConstants, ScalarsKeepEveryBit) {
  std::optional<Operator> singles, doubles, integers;
  try {
    singles = copier("singles", "float", DType::Float32);
    doubles = copier("doubles", "double", DType::Float64);
    integers = copier("integers", "long long", DType::Int64);
  } catch (const BackendUnavailable& error) {
    GTEST_SKIP() << error.what();
  }
  std::mt19937_64 random(11);
  // NaN payloads, quiet and signalling, infinities, -0, denormals
  std::vector<std::uint32_t> small{0x7fc12345, 0x7f812345, 0xffc00001,
                                   0x7f800000, 0xff800000, 0x80000000,
                                   0x00000001, 0x807fffff};
  std::vector<std::uint64_t> large{0x7ff8000000012345, 0x7ff0000000012345,
                                   0xfff8000000000001, 0x7ff0000000000000,
                                   0xfff0000000000000, 0x8000000000000000,
                                   0x0000000000000001, 0x7fffffffffffffff};
  while (small.size() < 64)
    small.push_back(static_cast<std::uint32_t>(random()));
  while (large.size() < 64) large.push_back(random());
  for (const std::uint32_t bits : small)
    EXPECT_EQ(std::bit_cast<std::uint32_t>(
                  copied<float>(*singles, std::bit_cast<float>(bits))),
              bits);
  for (const std::uint64_t bits : large) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(
                  copied<double>(*doubles, std::bit_cast<double>(bits))),
              bits);
    const auto number = static_cast<std::int64_t>(bits);
    EXPECT_EQ(copied<std::int64_t>(*integers, number), number);
  }
}

GPUOS_INSTANTIATE_CONTRACT(RuntimeConstants);

}  // namespace
}  // namespace gpuos
