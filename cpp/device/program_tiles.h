// An order of a matrix' elements in which neighbours lie close together in
// rows and in columns: where one array is walked along rows and another along
// columns, every sector of memory that a warp fetches is used whole.
#pragma once

#include "task_abi.h"

namespace gpuos {
namespace program {

enum : u32 { kTileSide = 32, kTileElements = kTileSide * kTileSide };

struct TilePlace {
  u32 row;
  u32 column;
};

// Of a tile's elements: 8 columns by 4 rows a warp, 8 by 32 eight warps.
GPUOS_DEVICE constexpr TilePlace place_in_tile(u32 number) {
  return {number >> 3 & 31, (number & 7) | (number >> 8 & 3) << 3};
}

}  // namespace program
}  // namespace gpuos
