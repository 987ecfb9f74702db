#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

}  // namespace gpuos::bench
