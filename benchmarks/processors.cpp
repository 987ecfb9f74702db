#include "processors.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "timing.h"

namespace gpuos::bench {
namespace {

// A core is undisturbed above this part of the fastest core's speed. A shared
// core has half of that speed.
constexpr double kQuick = 0.85;

void keep(std::uint64_t& value) { asm volatile("" : "+r"(value)); }

// These additions are independent, so a core issues as many as it can.
double additions_in_us() {
  constexpr int kRounds = 10'000;
  std::array<double, 5> speeds{};
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
  for (double& speed : speeds) {
    const auto start = Clock::now();
    for (int i = 0; i < kRounds; ++i) {
      a += 3;
      b += 5;
      c += 7;
      d += 9;
      keep(a);
      keep(b);
      keep(c);
      keep(d);
    }
    speed = 4 * kRounds / us_since(start);
  }
  std::ranges::sort(speeds);
  return speeds[speeds.size() / 2];
}

struct Processor {
  int number;
  double speed;
};

/// Stores the processors that this thread may use. The end restores them.
class Choice {
 public:
  Choice() {
    CPU_ZERO(&all_);
    if (sched_getaffinity(0, sizeof all_, &all_) != 0) CPU_ZERO(&all_);
  }
  ~Choice() {
    if (CPU_COUNT(&all_) > 0) sched_setaffinity(0, sizeof all_, &all_);
  }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

  /// Returns false if the thread may not run there.
  bool move_to(int number) const {
    if (!CPU_ISSET(number, &all_)) return false;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }

 private:
  cpu_set_t all_{};
};

std::vector<Processor> measured(const Choice& choice) {
  std::vector<Processor> found;
  for (int number = 0; number < CPU_SETSIZE; ++number)
    if (choice.move_to(number)) found.push_back({number, additions_in_us()});
  std::ranges::sort(found, std::ranges::greater{}, &Processor::speed);
  return found;
}

}  // namespace

bool settle() {
  thread_local double best = 0;  // so far, as all may be disturbed
  const double own = additions_in_us();
  if (best > 0 && own >= kQuick * best) return false;
  const int here = sched_getcpu();
  const Choice choice;
  const auto found = measured(choice);
  if (found.empty()) return false;
  best = std::max({best, own, found.front().speed});
  const int there = own >= kQuick * best ? here : found.front().number;
  choice.move_to(there);
  return there != here;
}

std::vector<int> quick_processors(std::size_t at_least) {
  const Choice choice;
  const auto found = measured(choice);
  std::vector<int> numbers;
  for (const Processor& one : found)
    if (numbers.size() < at_least || one.speed >= kQuick * found.front().speed)
      numbers.push_back(one.number);
  return numbers;
}

}  // namespace gpuos::bench
