#include "loops.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "gpuos/error.h"
#include "gpuos/program_functions.h"
#include "processors.h"
#include "timing.h"

namespace gpuos::bench {
namespace {

Ticket submit_one(Rig& rig, const Program& program, std::size_t set,
                  std::int64_t elems) {
  const auto [a, b, out] = rig.views(set, elems);
  return rig.runtime().submit(program, std::array{a, b}, std::array{out});
}

double maximum(double x, double y) { return std::max(x, y); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// `variant` is the number of additions that are subtractions instead.
template <typename T>
T chain(const T& x, const T& y, int operations, int variant = 0) {
  using std::tanh;
  T z = x;
  for (int i = 0; i < operations; ++i) {
    switch (i % 7) {
      case 0:
        z = z * y;
        break;
      case 1:
        z = i / 7 < variant ? z - x : z + x;
        break;
      case 2:
        z = maximum(z, 0.0);
        break;
      case 3:
        z = sigmoid(z);
        break;
      case 4:
        z = z - y;
        break;
      case 5:
        z = tanh(z);
        break;
      default:
        z = z / y;
    }
  }
  return z;
}

std::vector<float> read(Rig& rig, std::uint64_t address, std::size_t elems) {
  std::vector<float> values(elems);
  rig.runtime().copy_to_host(values.data(),
                             reinterpret_cast<const void*>(address),
                             elems * sizeof(float));
  return values;
}

bool is_near(double got, double expected) {
  return std::fabs(got - expected) <= 1e-4 * std::max(std::fabs(expected), 0.1);
}

}  // namespace

Program chain_program(int operations, int variant) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  builder.output(chain(x, y, operations, variant));
  return builder.build();
}

std::string compile_program(Rig& rig, const Program& program) {
  try {
    if (rig.runtime().compile(program, kCompilerDeadline)) return "";
  } catch (const BackendUnavailable& error) {
    return error.what();
  }
  throw Timeout("compile: expected the program within " +
                std::to_string(kCompilerDeadline.count()) + " s");
}

std::vector<double> program_first_us(Rig& rig, int operations,
                                     std::int64_t elems, int reps) {
  std::vector<double> times;
  for (int i = 1; i <= std::min(reps, operations / 7); ++i) {
    const Program program = chain_program(operations, i);
    settle();
    const auto start = Clock::now();
    rig.wait(submit_one(rig, program, 0, elems));
    times.push_back(us_since(start));
  }
  return times;
}

std::vector<double> program_latency_us(Rig& rig, const Program& program,
                                       std::int64_t elems, int reps) {
  constexpr std::size_t kSets = 256;  // that fit the device's caches
  return each_us(reps, 20, [&](std::size_t call) {
    rig.wait(submit_one(rig, program, call % kSets, elems));
  });
}

std::vector<double> program_stream_ns(Rig& rig, const Program& program,
                                      std::int64_t elems, int calls, int reps,
                                      bool grows) {
  return repeat(reps, [&] {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i)
      submit_one(rig, program, static_cast<std::size_t>(i),
                 grows ? elems + 1 + i : elems);
    rig.synchronize();
    return 1e3 * us_since(start) / calls;
  });
}

std::uint64_t program_wrong(Rig& rig, int operations, std::int64_t elems,
                            std::size_t sets) {
  const Program program = chain_program(operations);
  const auto size = static_cast<std::size_t>(elems);
  const auto room = static_cast<std::size_t>(rig.elems());
  rig.poison();
  const std::vector<float> poison = read(rig, rig.out_address(0), room);
  for (std::size_t set = 0; set < sets; ++set)
    submit_one(rig, program, set, elems);
  rig.synchronize();
  std::uint64_t wrong = 0;
  for (std::size_t set = 0; set < sets; ++set) {
    const std::vector<float> x = read(rig, rig.a_address(set), size);
    const std::vector<float> y = read(rig, rig.b_address(set), size);
    const std::vector<float> got = read(rig, rig.out_address(set), room);
    for (std::size_t i = 0; i < room; ++i) {
      const bool is_right =
          i < size ? is_near(got[i], chain<double>(x[i], y[i], operations))
                   : got[i] == poison[i];
      wrong += is_right ? 0 : 1;
    }
  }
  return wrong;
}

}  // namespace gpuos::bench
