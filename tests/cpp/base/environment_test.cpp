#include "base/config.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace gpuos {
namespace {

TEST(Environment, IsWhatItWasWhenItWasNoted) {
  ::setenv("GPUOS_TEST_NOTED", "a=b", 1);
  note_environment();
  const auto before = environment();
  ::setenv("GPUOS_TEST_NOTED", "c", 1);
  EXPECT_EQ(variable_of(*environment(), "GPUOS_TEST_NOTED"), "a=b");
  note_environment();
  EXPECT_EQ(variable_of(*environment(), "GPUOS_TEST_NOTED"), "c");
  EXPECT_EQ(variable_of(*before, "GPUOS_TEST_NOTED"), "a=b");
  ::unsetenv("GPUOS_TEST_NOTED");
  note_environment();
  EXPECT_EQ(variable_of(*environment(), "GPUOS_TEST_NOTED"), "");
}

TEST(Environment, ANameIsWhole) {
  const Environment variables{"PATHS=1", "XPATH=2", "PATH", "PATH=3"};
  EXPECT_EQ(variable_of(variables, "PATH"), "3");
}

}  // namespace
}  // namespace gpuos
