#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/program.h"
#include "rig.h"

namespace gpuos::bench {

/// Returns a chain of `operations` float32 operations over inputs x and y. Each
/// uses the result before: multiply, add, relu, sigmoid, subtract, tanh and
/// divide in turns. Each `variant` has its own structure.
Program chain_program(int operations, int variant = 0);

/// Compiles `program` and waits for it. Returns "", or why this machine cannot
/// compile it.
/// Throws: Timeout, CompileError.
std::string compile_program(Rig& rig, const Program& program);

/// Returns microseconds from a built, new program to its result. Each
/// repetition uses another program.
std::vector<double> program_first_us(Rig& rig, int operations,
                                     std::int64_t elems, int reps);

/// Returns microseconds from submit() until the host sees the result.
std::vector<double> program_latency_us(Rig& rig, const Program& program,
                                       std::int64_t elems, int reps);

/// Returns nanoseconds per call of `calls` independent calls with one wait at
/// the end. If it `grows`, each call has a different number of elements: 1 to
/// `calls` more than `elems`.
std::vector<double> program_stream_ns(Rig& rig, const Program& program,
                                      std::int64_t elems, int calls, int reps,
                                      bool grows = false);

/// Returns the number of wrong elements of the first `sets` outputs. An element
/// may differ from the host's result in double by 1e-4 of the value, or of 0.1
/// if that is more. Elements after an output must be unchanged.
std::uint64_t program_wrong(Rig& rig, int operations, std::int64_t elems,
                            std::size_t sets = 1);

}  // namespace gpuos::bench
