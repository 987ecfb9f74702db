// What the passes of worlds do, with the walks that code on the host and on the
// device has for it. A walk is all that is tried: the rest is written plainly.
#pragma once

namespace gpuos::worlds {

/// What lies where no walk has been.
inline constexpr long long kUntouched = -77777;

/// A task of a pass of int64. Its accesses: of a sum of two x, y and the
/// output; else x and the output.
struct WalkedTask {
  const unsigned long long* args;
  unsigned count;
  unsigned tile, tiles;
  enum { Add, Sum, Center } kind;
};

void walk_compiled_host(const WalkedTask& task, bool by_rows);
void walk_compiled_device(const WalkedTask& task);
void walk_interpreted_device(const WalkedTask& task);

/// Of `total`, what one of several tiles has.
struct Range {
  unsigned long long begin, end;
};
inline Range range_of(unsigned long long total, unsigned tile, unsigned tiles) {
  return {total * tile / tiles, total * (tile + 1) / tiles};
}

}  // namespace gpuos::worlds
