// Computes with arrays as NumPy does. Operations wait until a result is read,
// and are one task then.
#include <span>

#include "example.h"

namespace {

bool program(gpuos::Runtime& runtime) {
  gpuos::Arrays arrays(runtime);
  const gpuos::Array x = arrays.from({1.0f, 2.0f, 3.0f, 4.0f}, {2, 2});
  const auto y = gpuos::sqrt(x * x + 1).sum();
  std::printf("sum of sqrt(x * x + 1): %g\n", y.item<float>());

  // A fused function is built at its first call for these dtypes and ranks.
  const gpuos::FusedFunction step(
      [](std::span<const gpuos::Value> v) { return v[0] + v[1] * v[2]; });
  gpuos::Array position = arrays.from({0.0, 10.0}, {2});
  const gpuos::Array velocity = arrays.from({1.0, -1.0}, {2});
  for (int i = 0; i < 100; ++i) position = step(position, velocity, 0.25);
  const std::vector<double> end = position.read<double>();
  std::printf("after 100 steps: %g, %g\n", end[0], end[1]);
  return end[0] == 25 && end[1] == -15;
}

}  // namespace

int main(int argc, char** argv) { return run_example(argc, argv, program); }
