#include <chrono>
#include <cstdio>
#include <vector>

#include "gpuos/gpuos.h"

int main() {
  gpuos::RuntimeOptions options;
  options.backend = "host";
  gpuos::Runtime runtime(options);

  std::vector<float> a(1000, 1.5f), b(1000, 2.0f), c(1000);
  const gpuos::Ticket ticket = runtime.submit(
      "add", {{a.data(), 1000}, {b.data(), 1000}}, {c.data(), 1000});
  if (!runtime.wait(ticket, std::chrono::seconds(10))) return 1;
  for (const float x : c) {
    if (x != 3.5f) return 1;
  }
  std::printf("gpuos %s: 1.5 + 2.0 = %.1f, 1000 times\n", gpuos::version(),
              c[0]);
  return 0;
}
