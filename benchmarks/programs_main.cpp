// The figures of `python -m gpuos bench programs` that need no Python.
//   gpuos_bench_programs [host | cuda]
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>

#include "loops.h"
#include "programs.h"
#include "timing.h"

namespace gpuos::bench {
namespace {

constexpr std::size_t kSets = 256;
constexpr std::int64_t kRoom = 65536;
constexpr int kOperations = 140;

void print(const std::string& what, double value, const char* unit) {
  std::printf("%-46s %12.3f %s\n", what.c_str(), value, unit);
}

void print_sizes(Rig& rig, const std::string& mode) {
  const Program program = chain_program(kOperations);
  for (const std::int64_t elems : {64, 1024, 4096, 16384, 65536}) {
    const std::string what = "140 operations of " + std::to_string(elems);
    print(what + ", latency, " + mode,
          median(program_latency_us(rig, program, elems, 300)), "us");
    print(what + ", stream, " + mode,
          median(program_stream_ns(rig, program, elems, 2000, 5)), "ns");
  }
  for (const int operations : {1, 10, 100, 1000})
    print(std::to_string(operations) + " operations of 4096, latency, " + mode,
          median(program_latency_us(rig, chain_program(operations), 4096, 300)),
          "us");
}

void print_residency(RuntimeOptions options, Residency residency,
                     const std::string& mode) {
  options.residency = residency;
  Rig rig(options, kSets, kRoom);
  print("first call, " + mode,
        median(program_first_us(rig, kOperations, 4096, 20)), "us");
  print_sizes(rig, mode);
  const Program program = chain_program(kOperations);
  print("one shape, " + mode,
        median(program_stream_ns(rig, program, 4096, 1000, 5)), "ns");
  print("1000 shapes, " + mode,
        median(program_shapes_ns(rig, program, 4096, 1000, 5)), "ns");
  print("wrong, " + mode,
        static_cast<double>(program_wrong(rig, kOperations, 65536)), "");
}

void run(const std::string& backend) {
  RuntimeOptions options;
  options.backend = backend;
  const bool is_cuda = Runtime(options).backend() == "cuda";
  print_residency(options, Residency::Resident, "resident");
  if (!is_cuda) return;
  print_residency(options, Residency::Burst, "burst");
  print_residency(options, Residency::Auto, "auto");
}

}  // namespace
}  // namespace gpuos::bench

int main(int argc, char** argv) {
  try {
    gpuos::bench::run(argc > 1 ? argv[1] : "auto");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
