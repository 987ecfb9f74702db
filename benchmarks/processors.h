#pragma once

#include <cstddef>
#include <vector>

namespace gpuos::bench {

// A virtual processor is often one of two hyperthreads of a core. While another
// machine's program runs on the other one, it executes half as many
// instructions in the same time, whatever they are; how long one that needs the
// one before takes stays as it is. Nothing but a measurement shows it
// (docs/lab/machines.md).

/// Moves this thread to the processor that is least disturbed in this way,
/// unless its own is not; true if it moved. The thread may run on the same
/// processors as before. Takes 0.03 ms, or some 1 if it moves.
bool settle();

/// The processors of this thread that are not disturbed at the moment, or the
/// least disturbed `at_least`, the quickest first; none where a thread cannot
/// choose.
std::vector<int> quick_processors(std::size_t at_least);

}  // namespace gpuos::bench
