#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpuos/program.h"
#include "rig.h"

namespace gpuos::bench {

/// Returns nanoseconds per task. A repetition submits `calls` batches of
/// `tasks` adds and waits at the end.
std::vector<double> bulk_ns(Rig& rig, std::size_t tasks, std::int64_t elems,
                            int calls, int reps);

/// Returns microseconds from submit() of one add until the host sees its end.
/// The result excludes the first `warm_up` adds.
std::vector<double> round_trip_us(Rig& rig, std::int64_t elems, int reps,
                                  int warm_up = 200);

/// Returns microseconds per flush. A repetition makes `count` flushes of
/// `tasks` adds in one named stream and waits at the end.
std::vector<double> flush_us(Rig& rig, std::size_t tasks, std::int64_t elems,
                             int count, int reps);

/// The measured times, by name.
using Times = std::map<std::string, std::vector<double>>;

/// Times `links` adds to one buffer. Each add needs the add before. "submit_ns"
/// is the time of a submit() call. "link_ns" ends after the last add.
Times chain_ns(Rig& rig, std::size_t links, std::int64_t elems, int reps);

/// Times define(), one task and its wait for new operators. "expression_us" is
/// for an expression of a new structure, and "submitted_us" ends after its
/// submission. "cold_ms" is for a whole operator. "again_ms" is for the same
/// text after undefine().
Times define_ms(Rig& rig, int reps);

/// Replaces an operator `swaps` times, rolls it back and switches its alias.
/// Meanwhile another thread submits it without a pause, at least `min_tasks`
/// times. Every body adds 1 to each element of the task's own buffer, so a
/// buffer counts its tasks.
///
/// Returns several times for each swap. "pause_us" is the pause of the queue.
/// "load_us" is the part of it in which the driver loads the module. "swap_ms"
/// is replace() with its compilation. "rollback_us" and "switch_us" follow.
/// "loads" counts the loads of these two, each of which would be a pause.
/// The result has one number for all swaps as "tasks", "lost" (tasks without
/// their work), "wrong" (elements with an unexpected count) and "seconds".
Times swap_under_load(Rig& rig, int swaps, std::uint64_t min_tasks);

/// Times cuCtxSynchronize(), which is cudaDeviceSynchronize(). "idle_us" is the
/// time after one awaited task. During "saturated_us" a thread keeps the queue
/// full.
Times synchronize_beside(Rig& rig, int idle_reps, int saturated_reps);

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
