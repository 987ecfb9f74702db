// The passes of worlds, with the loops of host and device code. Only a loop is
// tested: the other parts are written plainly.
#pragma once

namespace gpuos::worlds {

/// The value of elements that no loop has visited.
inline constexpr long long kUntouched = -77777;

/// A task of a pass of int64. The accesses of a sum of two are x, y and the
/// output. Other tasks have x and the output.
struct WalkedTask {
  const unsigned long long* args;
  unsigned count;
  unsigned tile, tiles;
  enum { Add, Sum, Center } kind;
};

void walk_compiled_host(const WalkedTask& task, bool by_rows);
void walk_compiled_device(const WalkedTask& task);
void walk_interpreted_device(const WalkedTask& task);

/// The part of `total` of one of several tiles.
struct Range {
  unsigned long long begin, end;
};
inline Range range_of(unsigned long long total, unsigned tile, unsigned tiles) {
  return {total * tile / tiles, total * (tile + 1) / tiles};
}

}  // namespace gpuos::worlds
