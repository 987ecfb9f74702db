#include "host/patience.h"

#include <gtest/gtest.h>

namespace gpuos::host {
namespace {

void poll_in_vain(Patience& patience, std::uint32_t times) {
  for (std::uint32_t i = 0; i < times; ++i) patience.note(true);
}

TEST(Patience, LastsWhileItIsRewarded) {
  Patience patience;
  for (int i = 0; i < 100; ++i) {
    poll_in_vain(patience, Patience::kMostInVain - 1);
    EXPECT_TRUE(patience.is_worth_it());
    patience.note(false);
  }
}

TEST(Patience, ThatWasInVainIsTriedNowAndThen) {
  Patience patience;
  poll_in_vain(patience, Patience::kMostInVain);
  std::uint32_t tries = 0;
  for (std::uint32_t i = 0; i < 10 * Patience::kRetry; ++i)
    tries += patience.is_worth_it() ? 1 : 0;
  EXPECT_EQ(tries, 10u);
}

TEST(Patience, ComesBackWithOneSuccess) {
  Patience patience;
  poll_in_vain(patience, 1000);
  patience.note(false);
  EXPECT_TRUE(patience.is_worth_it());
  EXPECT_TRUE(patience.is_worth_it());
}

}  // namespace
}  // namespace gpuos::host
