#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/program.h"
#include "rig.h"

namespace gpuos::bench {

/// `operations` of float32, each on the result of the one before, over inputs
/// x and y: multiply, add, relu, sigmoid, subtract, tanh and divide in turns.
/// Each `variant` has a structure of its own.
Program chain_program(int operations, int variant = 0);

/// Has `program` compiled and waits for it; why that cannot be done on this
/// machine, or "".
/// Throws: Timeout, CompileError.
std::string compile_program(Rig& rig, const Program& program);

/// Microseconds from a built program that the runtime has not seen to its
/// result; for each repetition another program.
std::vector<double> program_first_us(Rig& rig, int operations,
                                     std::int64_t elems, int reps);

/// Microseconds from submit() until the host sees the result.
std::vector<double> program_latency_us(Rig& rig, const Program& program,
                                       std::int64_t elems, int reps);

/// Nanoseconds a call: `calls` independent ones, awaited at the end. If it
/// `grows` each has another number of elements: 1 to `calls` more than `elems`.
std::vector<double> program_stream_ns(Rig& rig, const Program& program,
                                      std::int64_t elems, int calls, int reps,
                                      bool grows = false);

/// Elements of the first `sets` outputs that differ from what the host computes
/// in double by more than 1e-4 of the value, or of 0.1 if that is more, or that
/// were written behind them.
std::uint64_t program_wrong(Rig& rig, int operations, std::int64_t elems,
                            std::size_t sets = 1);

}  // namespace gpuos::bench
