// The figures of `python -m gpuos bench queue` that need no Python.
//   gpuos_bench_queue [host | cuda]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "device.h"
#include "load.h"
#include "loops.h"
#include "timing.h"

namespace gpuos::bench {
namespace {

constexpr std::size_t kSets = 256;
constexpr std::int64_t kElems = 4096;

void print(const std::string& what, double value, const char* unit) {
  std::printf("%-46s %12.3f %s\n", what.c_str(), value, unit);
}

void print_residency(RuntimeOptions options, Residency residency,
                     const std::string& mode) {
  options.residency = residency;
  Rig rig(options, kSets, kElems);
  for (const std::int64_t elems : {1024, 4096})
    print("add of " + std::to_string(elems) + ", " + mode,
          median(bulk_ns(rig, 262'144, elems, 1, 7)), "ns");
  const ChainTimes chain = chain_ns(rig, 4096, 1024, 7);
  print("a link of a chain, add of 1024, " + mode, median(chain.link_ns), "ns");
  print("submit() of a link, " + mode, median(chain.submit_ns), "ns");
  print("wrong elements, " + mode, static_cast<double>(chain.wrong), "");
  const auto trips = round_trip_us(rig, 1024, 2000);
  print("round trip, " + mode + ", median", median(trips), "us");
  print("round trip, " + mode + ", p99", quantile(trips, 0.99), "us");
}

void print_peers(const RuntimeOptions& options) {
  Rig rig(options, kSets, kElems);
  Device device(options.device);
  print("launch", median(device.launch_ns(rig, 4096, 1024, 5)), "ns");
  print("graph, chain", median(device.graph_ns(rig, 1024, 1024, false, 4, 5)),
        "ns");
  print("graph, parallel", median(device.graph_ns(rig, 1024, 1024, true, 4, 5)),
        "ns");
  print("launch and synchronize", median(device.round_trip_us(rig, 1024, 1000)),
        "us");
  print("flush of 16", median(flush_us(rig, 16, 1024, 500, 5)), "us");
}

void print_swaps(RuntimeOptions options, bool is_cuda) {
  options.residency = Residency::Resident;
  Rig rig(options, kSets, kElems);
  const SwapReport swaps = is_cuda ? swap_under_load(rig, 200, 10'000'000)
                                   : swap_under_load(rig, 5, 1'000'000);
  print("pause of a swap, median", median(swaps.pause_us), "us");
  print("pause of a swap, worst", quantile(swaps.pause_us, 1), "us");
  print("tasks meanwhile", static_cast<double>(swaps.tasks), "");
  print("tasks lost", static_cast<double>(swaps.lost), "");
  const DefineTimes defines = define_ms(rig, 5);
  print("define an expression", median(defines.expression_us), "us");
  print("define, cold", median(defines.cold_ms), "ms");
  print("define, compiled before", median(defines.again_ms), "ms");
}

void run(const std::string& backend) {
  RuntimeOptions options;
  options.backend = backend;
  const bool is_cuda = Runtime(options).backend() == "cuda";
  print_residency(options, Residency::Resident, "resident");
  if (is_cuda) {
    print_residency(options, Residency::Burst, "burst");
    print_residency(options, Residency::Auto, "auto");
    print_peers(options);
  }
  print_swaps(options, is_cuda);
}

}  // namespace
}  // namespace gpuos::bench

int main(int argc, char** argv) {
  // What an earlier run compiled would count as compiled now.
  setenv("GPUOS_CACHE_DIR", "off", 1);
  try {
    gpuos::bench::run(argc > 1 ? argv[1] : "auto");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
  return 0;
}
