#include "device/functions.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gpuos {
namespace {

// test_vocabulary.py compares the values of all functions with NumPy's.
TEST(FloatFunctions, NearAndFarAnglesMeet) {
  EXPECT_TRUE(fn::is_near(1048575.9f));
  EXPECT_FALSE(fn::is_near(0x1p20f));
  EXPECT_FALSE(fn::is_near(-0x1p20f));
  EXPECT_FALSE(fn::is_near(NAN));
  for (const float x : {3.0f, -1048575.9f}) {
    EXPECT_EQ(fn::sin(x), fn::sin_near(x));
    EXPECT_EQ(fn::cos(x), fn::cos_near(x));
    EXPECT_EQ(fn::tan(x), fn::tan_near(x));
  }
  EXPECT_EQ(fn::sin(1e30f), static_cast<float>(std::sin(double{1e30f})));
}

}  // namespace
}  // namespace gpuos
