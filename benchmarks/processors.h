#pragma once

#include <cstddef>
#include <vector>

namespace gpuos::bench {

// A virtual processor is often one of two hyperthreads of a core. Another
// machine's program may run on the other one. The processor then executes half
// as many instructions in the same time. The latency of dependent instructions
// stays the same. Only a measurement shows this (docs/lab/machines.md).

/// Moves this thread to the least disturbed processor if its own is disturbed.
/// Returns whether it moved. The thread may still run on the same processors as
/// before. The call takes 0.03 ms, or about 1 ms if it moves.
bool settle();

/// Returns this thread's processors that are not disturbed at the moment, the
/// fastest first. Returns at least the `at_least` least disturbed ones. The
/// result is empty on systems where a thread cannot choose.
std::vector<int> quick_processors(std::size_t at_least);

}  // namespace gpuos::bench
