#pragma once

#include <cstddef>
#include <cstdint>
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

struct ChainTimes {
  std::vector<double> link_ns;    // until the last one is done
  std::vector<double> submit_ns;  // of a submit() call
  std::uint64_t wrong = 0;
};
/// `links` adds to one buffer, each of which needs the one before.
ChainTimes chain_ns(Rig& rig, std::size_t links, std::int64_t elems, int reps);

struct LargeAdd {
  std::vector<double> us;
  std::uint64_t wrong = 0;
};
/// One add of `elems` float32 elements at a time.
LargeAdd large_add(Rig& rig, std::size_t elems, int reps);

struct DefineTimes {
  std::vector<double> expression_us;  // of a structure that nobody has had
  std::vector<double> submitted_us;   // until its task was submitted
  std::vector<double> cold_ms;        // a whole operator
  std::vector<double> again_ms;       // the same text after undefine()
  std::uint64_t wrong = 0;
};
/// define(), one task and its wait, for an operator that was never seen.
DefineTimes define_ms(Rig& rig, int reps);

}  // namespace gpuos::bench
