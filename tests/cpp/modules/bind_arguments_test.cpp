#include "modules/bind_arguments.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>

#include "errors.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

const std::string kName = "k";

ParameterList sizes(std::vector<std::size_t> bytes) {
  return {std::move(bytes), std::nullopt};
}

ParameterList typed(std::vector<std::size_t> bytes,
                    std::vector<std::string> types) {
  return {std::move(bytes), std::move(types)};
}

template <typename T>
T value(BoundArguments& bound, std::size_t i) {
  T read{};
  std::memcpy(&read, bound.pointers()[i], sizeof(T));
  return read;
}

std::string refusal(const ParameterList& parameters, const KernelArgs& args) {
  return thrown_by<InvalidArgument>(
      [&] { const BoundArguments bound(kName, parameters, args); });
}

struct Pair {
  float x;
  double y;
  std::int32_t z[4];
};

TEST(BindArguments, ValuesKeepTheirBytes) {
  const std::complex<double> c(1, -2);
  const Pair pair{1.5f, 2.5, {1, 2, 3, 4}};
  int there = 7;
  const auto args =
      KernelArgs::of(true, std::int8_t{-3}, std::uint64_t{1} << 63,
                     Float16{0x3c00}, BFloat16{0x3f80}, 1.25f, c, &there, pair);
  BoundArguments bound(kName, sizes({1, 1, 8, 2, 2, 4, 16, 8, sizeof(Pair)}),
                       args);
  EXPECT_EQ(value<bool>(bound, 0), true);
  EXPECT_EQ(value<std::int8_t>(bound, 1), -3);
  EXPECT_EQ(value<std::uint64_t>(bound, 2), std::uint64_t{1} << 63);
  EXPECT_EQ(value<std::uint16_t>(bound, 3), 0x3c00);
  EXPECT_EQ(value<std::uint16_t>(bound, 4), 0x3f80);
  EXPECT_EQ(value<float>(bound, 5), 1.25f);
  EXPECT_EQ(value<std::complex<double>>(bound, 6), c);
  EXPECT_EQ(value<int*>(bound, 7), &there);
  EXPECT_EQ(value<Pair>(bound, 8).z[3], 4);
}

TEST(BindArguments, AddressesStayWhileArgumentsAreAdded) {
  KernelArgs args;
  args.add(std::int32_t{5});
  const void* const first = args.values().front().data();
  for (int i = 0; i < 1000; ++i) args.add(i);
  EXPECT_EQ(args.values().front().data(), first);
}

TEST(BindArguments, PlainNumbersGetTheTypeOfTheParameter) {
  KernelArgs args;
  args.add(Scalar(3)).add(Scalar(3)).add(Scalar(2.5)).add(Scalar(-1));
  BoundArguments bound(
      kName, typed({4, 8, 4, 1}, {"float", "double", "float", "signed char"}),
      args);
  EXPECT_EQ(value<float>(bound, 0), 3.0f);
  EXPECT_EQ(value<double>(bound, 1), 3.0);
  EXPECT_EQ(value<float>(bound, 2), 2.5f);
  EXPECT_EQ(value<std::int8_t>(bound, 3), -1);
}

TEST(BindArguments, PlainNumbersOfUnnamedTypesGoByTheirSize) {
  KernelArgs args;
  args.add(Scalar(-3)).add(Scalar(0.5));
  BoundArguments bound(kName, sizes({2, 8}), args);
  EXPECT_EQ(value<std::int16_t>(bound, 0), -3);
  EXPECT_EQ(value<double>(bound, 1), 0.5);
}

TEST(BindArguments, AnotherCountNamesBothLayouts) {
  EXPECT_EQ(refusal(sizes({8, 4}), KernelArgs::of(1.0)),
            "k: expected (8 bytes, 4 bytes), got (float64: 8 bytes)");
  EXPECT_EQ(refusal(sizes({}), KernelArgs::of(1)),
            "k: expected (), got (int32: 4 bytes)");
}

TEST(BindArguments, AnotherSizeNamesBothLayouts) {
  EXPECT_EQ(refusal(typed({8, 4}, {"float*", "int"}),
                    KernelArgs::of(static_cast<void*>(nullptr), 2.0)),
            "k: expected (float*: 8 bytes, int: 4 bytes), got (pointer: 8 "
            "bytes, float64: 8 bytes)");
}

TEST(BindArguments, AnotherKindOfTheSameSizeIsRefused) {
  int there = 0;
  EXPECT_NE(refusal(typed({4}, {"float"}), KernelArgs::of(1)), "");
  EXPECT_NE(refusal(typed({4}, {"int"}), KernelArgs::of(1.0f)), "");
  EXPECT_NE(refusal(typed({8}, {"double"}), KernelArgs::of(&there)), "");
  EXPECT_NE(refusal(typed({8}, {"long"}), KernelArgs::of(&there)), "");
  EXPECT_NE(refusal(typed({8}, {"float*"}), KernelArgs::of(1.0)), "");
  EXPECT_EQ(refusal(typed({8}, {"float*"}), KernelArgs::of(std::uint64_t{0})),
            "");
}

TEST(BindArguments, NumbersThatDoNotFitAreRefused) {
  KernelArgs args;
  args.add(Scalar(256));
  EXPECT_EQ(refusal(sizes({1}), args),
            "k: argument 0: expected an integer of 1 bytes, got 256");
  KernelArgs large;
  large.add(Scalar(~std::uint64_t{0}));
  EXPECT_EQ(refusal(sizes({4}), large),
            "k: argument 0: expected an integer of 4 bytes, got "
            "18446744073709551615");
  EXPECT_EQ(refusal(sizes({8}), large), "");
  KernelArgs complex;
  complex.add(Scalar(std::complex<float>(1, 2)));
  EXPECT_TRUE(says(refusal(sizes({8}), complex), "a complex number"));
  KernelArgs real;
  real.add(Scalar(0.5));
  EXPECT_NE(refusal(typed({4}, {"int"}), real), "");
  EXPECT_TRUE(says(refusal(sizes({2}), real), "float16 or bfloat16"));
}

TEST(BindArguments, UnknownLayoutTakesTypedValues) {
  const ParameterList unknown;
  EXPECT_EQ(refusal(unknown, KernelArgs::of(1, 2.0)), "");
}

}  // namespace
}  // namespace gpuos::cu
