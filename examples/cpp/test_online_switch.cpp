// One operator gets a new body again and again while its tasks are in flight.
// Each task must run, whole, the body that its operator had when it was
// submitted.
#include "example.h"

namespace {

constexpr std::size_t kRounds = 40;
constexpr std::size_t kTasks = 2000;  // in a round
constexpr std::size_t kSize = 256;

bool program(gpuos::Runtime& runtime) {
  Blocks a(runtime, 1, kSize, 5), b(runtime, 1, kSize, 2);
  Blocks c(runtime, kRounds * kTasks, kSize, -1);

  // 5 + 2, then 5 - 2, then 5 * 2, and again.
  const std::string bodies[] = {"o = a + b", "o = a - b", "o = a * b"};
  const float results[] = {7, 3, 10};

  const gpuos::Operator op =
      runtime.define({.name = "switched", .expression = bodies[0]});
  std::size_t in_flight = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    gpuos::Ticket last;
    for (std::size_t task = 0; task < kTasks; ++task)
      last = runtime.submit(op, {a[0], b[0]}, c[round * kTasks + task]);
    runtime.replace(op, {.expression = bodies[(round + 1) % 3]});
    in_flight += !runtime.is_done(last);
  }
  if (!runtime.synchronize(std::chrono::seconds(60))) return false;

  const std::size_t wrong =
      c.wrong([&](std::size_t block) { return results[block / kTasks % 3]; });
  std::printf("%zu switches, %zu of them with tasks in flight\n", kRounds,
              in_flight);
  std::printf("%zu tasks, %zu elements, %zu wrong\n", kRounds * kTasks,
              kRounds * kTasks * kSize, wrong);
  return wrong == 0 &&
         runtime.stats().tasks_completed == runtime.stats().tasks_submitted;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, program); }
