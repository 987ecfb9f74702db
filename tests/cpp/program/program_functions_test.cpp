#include "gpuos/program_functions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "contract.h"
#include "gpuos/program_reductions.h"

namespace gpuos {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class ProgramFunctions : public Contract {
 protected:
  /// Returns the result of `function` for one row of numbers.
  template <typename In, typename Out, typename Function>
  std::vector<Out> run(DType dtype, const std::vector<In>& row,
                       Function function) {
    ProgramBuilder builder;
    builder.output(function(builder.input(dtype, 1)));
    const Program program = builder.build();
    const DeviceArray<In> in(runtime(), row);
    TensorView from(in.data(), static_cast<std::int64_t>(row.size()), dtype);
    const auto shapes =
        program.output_shapes(std::vector<Shape>{{from.shape[0]}});
    std::size_t size = 1;
    for (const std::int64_t dim : shapes[0])
      size *= static_cast<std::size_t>(dim);
    const DeviceArray<Out> out(runtime(), size);
    TensorView to(out.data(), static_cast<std::int64_t>(size),
                  program.outputs()[0].dtype);
    to.dims = static_cast<std::uint8_t>(shapes[0].size());
    runtime().submit(program, {&from, 1}, {&to, 1});
    return out.read();
  }
  template <typename Function>
  std::vector<double> of_doubles(const std::vector<double>& row,
                                 Function function) {
    return run<double, double>(DType::Float64, row, function);
  }
};

TEST_P(ProgramFunctions, OperatorsAndFunctionsMakeAProgram) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  const Value k = builder.number(1.0);
  builder.output(where(x > y, k * x, y - 1));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(), {1, 5, 3}), b(runtime(), {2, 4, 3});
  const DeviceArray<float> out(runtime(), 3);
  const std::vector inputs = {a.view(), b.view()};
  const TensorView to = out.view();
  const Scalar number = 10.0;
  runtime().submit(program, inputs, {&to, 1}, {&number, 1});
  EXPECT_EQ(out.read(), (std::vector<float>{1, 50, 2}));
}

TEST_P(ProgramFunctions, DivisionAndRemainderAreThoseOfPython) {
  EXPECT_EQ(of_doubles({7, -7}, [](const Value& x) { return x / 2; }),
            (std::vector<double>{3.5, -3.5}));
  EXPECT_EQ(of_doubles({7, -7}, [](const Value& x) { return x % 4; }),
            (std::vector<double>{3, 1}));
  EXPECT_EQ((run<std::int32_t, double>(DType::Int32, {7, -7},
                                       [](const Value& x) { return x / 2; })),
            (std::vector<double>{3.5, -3.5}));
}

TEST_P(ProgramFunctions, AnIntegerComparesExactlyWithANumberThatDoesNotFit) {
  const std::vector<std::uint8_t> row = {0, 7, 255};
  EXPECT_EQ((run<std::uint8_t, std::uint8_t>(
                DType::UInt8, row, [](const Value& x) { return x < 300; })),
            (std::vector<std::uint8_t>{1, 1, 1}));
  EXPECT_EQ((run<std::uint8_t, std::uint8_t>(
                DType::UInt8, row, [](const Value& x) { return x < -1; })),
            (std::vector<std::uint8_t>{0, 0, 0}));
}

TEST_P(ProgramFunctions, Int64AndUint64CompareExactly) {
  constexpr std::int64_t kLarge = std::int64_t{1} << 62;
  const std::vector<std::int64_t> row = {-1, 0, kLarge, kLarge + 1};
  const auto against = [&](auto compare) {
    return run<std::int64_t, std::uint8_t>(
        DType::Int64, row, [&](const Value& x) {
          return compare(x, astype(literal_of(kLarge, x), DType::UInt64));
        });
  };
  using Bools = std::vector<std::uint8_t>;
  EXPECT_EQ(against([](auto x, auto y) { return x < y; }), (Bools{1, 1, 0, 0}));
  EXPECT_EQ(against([](auto x, auto y) { return x <= y; }),
            (Bools{1, 1, 1, 0}));
  EXPECT_EQ(against([](auto x, auto y) { return x > y; }), (Bools{0, 0, 0, 1}));
  EXPECT_EQ(against([](auto x, auto y) { return x >= y; }),
            (Bools{0, 0, 1, 1}));
  EXPECT_EQ(against([](auto x, auto y) { return x == y; }),
            (Bools{0, 0, 1, 0}));
  EXPECT_EQ(against([](auto x, auto y) { return x != y; }),
            (Bools{1, 1, 0, 1}));
}

TEST_P(ProgramFunctions, APowerWithANumberIsASquareARootOrAReciprocal) {
  EXPECT_EQ(of_doubles({3, -4}, [](const Value& x) { return power(x, 2); }),
            (std::vector<double>{9, 16}));
  EXPECT_EQ(of_doubles({9, 4}, [](const Value& x) { return power(x, 0.5); }),
            (std::vector<double>{3, 2}));
  EXPECT_EQ(of_doubles({2, -4}, [](const Value& x) { return power(x, -1); }),
            (std::vector<double>{0.5, -0.25}));
  EXPECT_EQ(of_doubles({2, -4}, [](const Value& x) { return power(x, 1); }),
            (std::vector<double>{2, -4}));
}

TEST_P(ProgramFunctions, ClipTakesAnyBounds) {
  const std::vector<double> row = {-5, 0.5, 9};
  EXPECT_EQ(of_doubles(row, [](const Value& x) { return clip(x, -1, 2); }),
            (std::vector<double>{-1, 0.5, 2}));
  EXPECT_EQ(of_doubles(row, [](const Value& x) { return clip(x, {}, 2); }),
            (std::vector<double>{-5, 0.5, 2}));
  EXPECT_EQ(of_doubles(row, [](const Value& x) { return clip(x, {}, {}); }),
            row);
  EXPECT_TRUE(std::isnan(
      of_doubles({kNan}, [](const Value& x) { return clip(x, -1, 2); })[0]));
}

TEST_P(ProgramFunctions, LogicTakesEveryDtype) {
  const std::vector<double> row = {0, -0.0, 2, kNan};
  const auto as_bits = [&](auto function) {
    return run<double, std::uint8_t>(DType::Float64, row, function);
  };
  EXPECT_EQ(as_bits([](const Value& x) { return logical_not(x); }),
            (std::vector<std::uint8_t>{1, 1, 0, 0}));
  EXPECT_EQ(as_bits([](const Value& x) { return logical_and(x, 3); }),
            (std::vector<std::uint8_t>{0, 0, 1, 1}));
  EXPECT_EQ(as_bits([](const Value& x) { return ~(x == 2); }),
            (std::vector<std::uint8_t>{1, 1, 0, 1}));
}

TEST_P(ProgramFunctions, ActivationsAreThoseOfNeuralNetworks) {
  const std::vector<double> row = {-3, -0.5, 0, 2, 40};
  const auto near = [&](auto function, auto reference) {
    const std::vector<double> got = of_doubles(row, function);
    for (std::size_t i = 0; i < row.size(); ++i)
      EXPECT_NEAR(got[i], reference(row[i]), 1e-12) << row[i];
  };
  near([](const Value& x) { return relu(x); },
       [](double x) { return x > 0 ? x : 0; });
  near([](const Value& x) { return leaky_relu(x, 0.1); },
       [](double x) { return x > 0 ? x : 0.1 * x; });
  near([](const Value& x) { return elu(x, 2); },
       [](double x) { return x > 0 ? x : 2 * std::expm1(x); });
  near([](const Value& x) { return softplus(x); },
       [](double x) { return x > 20 ? x : std::log1p(std::exp(x)); });
  near([](const Value& x) { return hardswish(x); },
       [](double x) { return x * std::fmin(std::fmax(x + 3, 0), 6) / 6; });
  near([](const Value& x) { return hardtanh(x); },
       [](double x) { return std::fmin(std::fmax(x, -1), 1); });
}

TEST_P(ProgramFunctions, MeanAndSpreadOfIntegersAreDouble) {
  const std::vector<std::int32_t> row = {1, 2, 3, 6};
  const auto of_integers = [&](auto function) {
    return run<std::int32_t, double>(DType::Int32, row, function)[0];
  };
  EXPECT_EQ(of_integers([](const Value& x) { return mean(x); }), 3);
  EXPECT_EQ(of_integers([](const Value& x) { return var(x); }), 3.5);
  EXPECT_EQ(of_integers([](const Value& x) { return var(x, {}, 2); }), 7);
  EXPECT_EQ(of_integers([](const Value& x) { return stddev(x, {}, 2); }),
            std::sqrt(7.0));
}

TEST_P(ProgramFunctions, SoftmaxSumsToOne) {
  const auto got =
      of_doubles({1000, 1001, 999}, [](const Value& x) { return softmax(x); });
  EXPECT_NEAR(got[0] + got[1] + got[2], 1, 1e-12);
  EXPECT_NEAR(got[1] / got[0], std::exp(1), 1e-12);
  const auto sum =
      of_doubles({1000, 1000}, [](const Value& x) { return logsumexp(x); });
  EXPECT_NEAR(sum[0], 1000 + std::log(2), 1e-12);
}

TEST_P(ProgramFunctions, NormsHaveAnOrder) {
  const std::vector<double> row = {3, -4};
  const auto norm_of = [&](double order) {
    return of_doubles(row, [&](const Value& x) { return norm(x, order); })[0];
  };
  EXPECT_EQ(norm_of(2), 5);
  EXPECT_EQ(norm_of(1), 7);
  EXPECT_EQ(norm_of(0), 2);
  EXPECT_EQ(norm_of(std::numeric_limits<double>::infinity()), 4);
}

TEST_P(ProgramFunctions, AnArrayWithoutAxesIsComputed) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float64, 0);
  builder.output(x * 2 + 1);
  const Program program = builder.build();
  const DeviceArray<double> in(runtime(), std::vector<double>{13});
  const DeviceArray<double> out(runtime(), 1);
  TensorView from = in.view();
  TensorView to = out.view();
  from.dims = to.dims = 0;
  runtime().submit(program, {&from, 1}, {&to, 1});
  EXPECT_EQ(out.read()[0], 27);
}

TEST_P(ProgramFunctions, EveryIntegerIsFinite) {
  const std::vector<std::int32_t> row = {0, -7};
  const auto as_bits = [&](auto function) {
    return run<std::int32_t, std::uint8_t>(DType::Int32, row, function);
  };
  EXPECT_EQ(as_bits([](const Value& x) { return isfinite(x); }),
            (std::vector<std::uint8_t>{1, 1}));
  EXPECT_EQ(as_bits([](const Value& x) { return isnan(x); }),
            (std::vector<std::uint8_t>{0, 0}));
  EXPECT_EQ(as_bits([](const Value& x) { return signbit(x); }),
            (std::vector<std::uint8_t>{0, 1}));
}

GPUOS_INSTANTIATE_CONTRACT(ProgramFunctions);

TEST(ProgramFunctionsTypes, NumbersTakeTheDtypeOfWhatTheyMeet) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Int8, 0);
  EXPECT_EQ((x + 1).dtype(), DType::Int8);
  EXPECT_EQ((x + 1.0).dtype(), DType::Float64);
  EXPECT_EQ((x + true).dtype(), DType::Int8);
  const Value f = builder.input(DType::Float32, 0);
  EXPECT_EQ((2.0 * f).dtype(), DType::Float32);
  EXPECT_EQ((f * std::complex<float>(0, 1)).dtype(), DType::Complex64);
  EXPECT_EQ((x * std::complex<float>(0, 1)).dtype(), DType::Complex128);
}

TEST(ProgramFunctionsTypes, HalvesStayHalvesAndAMeanOfIntegersDoesNot) {
  ProgramBuilder builder;
  const Value h = builder.input(DType::Float16, 2);
  EXPECT_EQ(softplus(h).dtype(), DType::Float16);
  EXPECT_EQ(mean(h).dtype(), DType::Float16);
  EXPECT_EQ(softmax(h, std::vector{1}).rank(), 2);
  EXPECT_EQ(mean(builder.input(DType::UInt8, 1)).dtype(), DType::Float64);
}

TEST(ProgramFunctionsTypes, IntegersGiveTheSmallestFloatThatHoldsEach) {
  ProgramBuilder builder;
  const Value signed_byte = builder.input(DType::Int8, 0);
  const Value byte = builder.input(DType::UInt8, 0);
  EXPECT_EQ(hypot(signed_byte, byte).dtype(), DType::Float16);
  EXPECT_EQ(hypot(byte, builder.input(DType::Int16, 0)).dtype(),
            DType::Float32);
}

TEST(ProgramFunctionsTypes, EqualNumbersAreOne) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 0);
  EXPECT_EQ((x * 2.5).id(), (x * 2.5).id());
  EXPECT_NE((x * 2.5).id(), (x * 2.75).id());
}

TEST(ProgramFunctionsTypes, WhatCannotBeIsRefused) {
  ProgramBuilder builder;
  const Value i = builder.input(DType::Int32, 1);
  EXPECT_THROW(power(i, -1), InvalidArgument);
  EXPECT_THROW(maximum(1, 2), InvalidArgument);
  EXPECT_THROW(where(true, 1, 2), InvalidArgument);
  EXPECT_THROW(expand_dims(i, 2), InvalidArgument);
  EXPECT_THROW(transpose(i, std::vector{0, 1}), InvalidArgument);
  EXPECT_THROW(astype(builder.input(DType::Complex64, 0), DType::Float32),
               InvalidArgument);
}

}  // namespace
}  // namespace gpuos
