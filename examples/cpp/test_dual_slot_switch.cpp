// Two operators stay loaded, and a logical one points at either: a switch and
// a rollback are one store each, and tasks in flight do not notice.
#include "example.h"

namespace {

constexpr std::size_t kRounds = 300;
constexpr std::size_t kTasks = 300;  // in a round
constexpr std::size_t kSize = 256;

bool program(gpuos::Runtime& runtime) {
  Blocks a(runtime, 1, kSize, 5), b(runtime, 1, kSize, 2);
  Blocks c(runtime, kRounds * kTasks, kSize, -1);

  const gpuos::Operator plus =
      runtime.define({.name = "plus", .expression = "o = a + b"});
  const gpuos::Operator times =
      runtime.define({.name = "times", .expression = "o = a * b"});
  gpuos::Alias logical = runtime.alias("logical", plus);
  const gpuos::Operator op = logical.as_operator();

  std::size_t in_flight = 0;
  for (std::size_t round = 0; round < kRounds; ++round) {
    gpuos::Ticket last;
    for (std::size_t task = 0; task < kTasks; ++task)
      last = runtime.submit(op, {a[0], b[0]}, c[round * kTasks + task]);
    if (round % 2 == 0) {
      logical.switch_to(times);
    } else {
      logical.rollback();
    }
    in_flight += !runtime.is_done(last);
  }
  if (!runtime.synchronize(std::chrono::seconds(60))) return false;

  const std::size_t wrong = c.wrong([](std::size_t block) {
    return block / kTasks % 2 == 0 ? 5.0f + 2 : 5.0f * 2;
  });
  std::printf("%zu switches and rollbacks, %zu with tasks in flight\n", kRounds,
              in_flight);
  std::printf("%zu tasks, %zu elements, %zu wrong; back at '%s'\n",
              kRounds * kTasks, kRounds * kTasks * kSize, wrong,
              logical.target().name().c_str());
  return wrong == 0 && logical.target().name() == "plus" &&
         runtime.stats().tasks_completed == runtime.stats().tasks_submitted;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, program); }
