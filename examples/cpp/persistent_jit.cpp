// The workers add all the time. Meanwhile an operator that they have never
// seen is compiled, injected into them and used; no task is lost for it.
#include <thread>

#include "example.h"

namespace {

constexpr std::size_t kBlocks = 2000;
constexpr std::size_t kSize = 1024;

const char* const kMul = R"(
GPUOS_OPERATOR(my_mul) {
  float* c = task.pointer<float>(0);
  const float* a = task.pointer<const float>(1);
  const float* b = task.pointer<const float>(2);
  for (gpuos::u32 i = lane.index(); i < task.count; i += lane.count())
    c[i] = a[i] * b[i];
}
)";

bool program(gpuos::Runtime& runtime) {
  Blocks a(runtime, kBlocks, kSize), b(runtime, kBlocks, kSize, 3);
  Blocks c(runtime, kBlocks, kSize), counts(runtime, kBlocks, kSize);
  Blocks one(runtime, 1, kSize, 1);

  for (std::size_t i = 0; i < kBlocks; ++i)
    runtime.submit("fill", {}, a[i], {i});

  // Adds 1 to one block after the other until it is told to stop.
  std::size_t adds = 0;
  std::jthread feeder([&](const std::stop_token& stop) {
    const gpuos::Operator add = runtime.find("add");
    for (; !stop.stop_requested(); ++adds) {
      const gpuos::TensorView block = counts[adds % kBlocks];
      runtime.submit(add, {block, one[0]}, block);
    }
  });

  const gpuos::Operator mul =
      runtime.define({.name = "my_mul", .source = kMul, .inputs = 2});
  for (std::size_t i = 0; i < kBlocks; ++i)
    runtime.submit(mul, {a[i], b[i]}, c[i]);

  feeder.request_stop();
  feeder.join();
  if (!runtime.synchronize(std::chrono::seconds(60))) return false;

  const std::size_t wrong_products =
      c.wrong([](std::size_t block) { return static_cast<float>(block) * 3; });
  const std::size_t wrong_counts = counts.wrong([&](std::size_t block) {
    return static_cast<float>(adds / kBlocks + (block < adds % kBlocks));
  });
  std::printf("my_mul compiled in %.1f ms and injected while %zu adds ran\n",
              runtime.stats().last_compile_ms, adds);
  std::printf("C = A * B: %zu elements, %zu wrong\n", kBlocks * kSize,
              wrong_products);
  std::printf("adds counted: %zu elements, %zu wrong\n", kBlocks * kSize,
              wrong_counts);
  return wrong_products == 0 && wrong_counts == 0;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, program); }
