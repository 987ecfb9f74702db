#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rig.h"

namespace gpuos::bench {

/// Nanoseconds a task: `calls` batches of `tasks` adds each, awaited at the
/// end.
std::vector<double> bulk_ns(Rig& rig, std::size_t tasks, std::int64_t elems,
                            int calls, int reps);

/// Microseconds from submit() of one add until the host sees that it is done;
/// the first `warm_up` are not in the result.
std::vector<double> round_trip_us(Rig& rig, std::int64_t elems, int reps,
                                  int warm_up = 200);

/// Microseconds a flush: `count` flushes of `tasks` adds back to back in one
/// named stream, awaited at the end.
std::vector<double> flush_us(Rig& rig, std::size_t tasks, std::int64_t elems,
                             int count, int reps);

/// The measured times, by name.
using Times = std::map<std::string, std::vector<double>>;

/// `links` adds to one buffer, each of which needs the one before: "submit_ns"
/// of a submit() call, "link_ns" until the last one is done.
Times chain_ns(Rig& rig, std::size_t links, std::int64_t elems, int reps);

/// define(), one task and its wait, for an operator that was never seen:
/// "expression_us" of a structure that nobody has had, "submitted_us" until its
/// task was submitted, "cold_ms" of a whole operator, "again_ms" of the same
/// text after undefine().
Times define_ms(Rig& rig, int reps);

}  // namespace gpuos::bench
