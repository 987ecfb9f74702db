// The text that the interpreter of programs runs, and the arguments of its
// tasks. The host compiler, nvcc and NVRTC read this file.
#pragma once

#include "integers.h"
#include "interpreter/codes.h"

namespace gpuos {
namespace program {

// A cell holds a value of 32 bits for each element of a lane. Values of 64 bits
// take two consecutive cells, and those of 128 bits four.
enum : u32 {
  kMaxCells = 250,
  kLast = 255,  // operand a or b: the result of the instruction before;
                // result: no cell keeps it
  kMaxAccesses = 28,
  // The worker's scratch holds instructions that are ready to run, then cells.
  kTextBytes = 4096,
  kResolvedBytes = 16,
  kCellBytes = abi::kScratchBytes - kTextBytes
};

struct Instruction {
  u16 opcode;  // Code << kTypeBits | Type
  u8 a;
  u8 b;
  u8 c;
  u8 out;
  u8 index;  // an access, a scalar or, after the scalars, a constant;
             // otherwise an Inlined
  u8 form;   // Form
};
static_assert(sizeof(Instruction) == 8, "one word");

// How an instruction is run, independent of its function: a kind, and flags.
enum Form : u8 {
  kCompute,  // of a and b
  kSelect,   // a ? b : c
  kLoad,
  kStore,
  kScalar,
  kInit,       // out = the initial value of a reduction
  kStep,       // out = out combined with a
  kJoin,       // combines the values of the row's lanes
  kPlaceInit,  // for argmax and argmin, which also have a place
  kPlaceStep,
  kPlaceJoin,
  kKindMask = 0x0f,
  kWideOperands = 0x10,  // of 64 bits; not the condition of a select
  kWideResult = 0x20,
  // A pair has 128 bits, two of 64. An instruction with a pair takes all
  // operands from cells.
  kPairResult = 0x40,
  kPairOperands = 0x80
};

GPUOS_DEVICE constexpr u16 opcode_of(Code code, u32 type) {
  return static_cast<u16>(static_cast<u32>(code) << kTypeBits | type);
}

// Functions of float that the device runs without a call, because a call takes
// longer than most of them. The first ones take no longer than a choice among
// them.
enum Inlined : u8 {
  kCalled,
  kAdd,
  kSubtract,
  kMultiply,
  kMaximum,
  kMinimum,
  kDivide,
  kExp,
  kSigmoid,
  kTanh,
  kNegative,
  kAbsolute,
  kLastShort = kMinimum
};

GPUOS_DEVICE constexpr Inlined inlined_of(Code code, u32 type) {
  if (type != kF32) return kCalled;
  switch (code) {
    case Code::Add:
    case Code::SumStep:
    case Code::SumJoin:
      return kAdd;
    case Code::Subtract:
      return kSubtract;
    case Code::Multiply:
    case Code::ProdStep:
    case Code::ProdJoin:
      return kMultiply;
    case Code::Maximum:
    case Code::MaxStep:
    case Code::MaxJoin:
      return kMaximum;
    case Code::Minimum:
    case Code::MinStep:
    case Code::MinJoin:
      return kMinimum;
    case Code::Divide:
      return kDivide;
    case Code::Exp:
      return kExp;
    case Code::Sigmoid:
      return kSigmoid;
    case Code::Tanh:
      return kTanh;
    case Code::Negative:
      return kNegative;
    case Code::Absolute:
      return kAbsolute;
    default:
      return kCalled;
  }
}

// Returns the bytes in memory that a load or a store accesses.
GPUOS_DEVICE constexpr u32 bytes_of(Code code) {
  switch (code) {
    case Code::LoadI8:
    case Code::LoadU8:
    case Code::LoadBool:
    case Code::Store8:
      return 1;
    case Code::Load32:
    case Code::Store32:
      return 4;
    case Code::Load64:
    case Code::Store64:
      return 8;
    case Code::Load128:
    case Code::Store128:
      return 16;
#define GPUOS_CASE(with, name, text, bytes, Stored, ...) \
  case Code::Load##Stored:                               \
  case Code::Store##Stored:                              \
    return bytes;
      // A branch for each line of the table.
      GPUOS_SHORT_FLOATS(GPUOS_CASE, )  // NOLINT(bugprone-branch-clone)
#undef GPUOS_CASE
    default:
      return 2;
  }
}

// The beginning of a text. A word for the end of each part follows, in
// instructions. Then come the instructions, and constants.
struct TextHeader {
  u16 parts;  // odd: 0, 2, ... once a row, 1, 3, ... for each column
  u16 cells;
  u16 accesses;
  u8 scalars;
  u8 is_plain;  // see kMostPlain
};
static_assert(sizeof(TextHeader) == 8, "one word");

// A text of elements is plain under three conditions. It has at most
// `kMostPlain` instructions. Each is an Inlined, a Scalar32, a Load32 or a
// Store32, and none is in part 2. The first of part 1 does not read the cell
// that the last of part 0 wrote.
enum : u32 { kMostPlain = 254 };

GPUOS_DEVICE inline const u64* part_ends(const u64* text) { return text + 1; }
GPUOS_DEVICE inline const Instruction* instructions_of(const u64* text) {
  return reinterpret_cast<const Instruction*>(
      text + 1 + reinterpret_cast<const TextHeader*>(text)->parts);
}

GPUOS_DEVICE inline const u64* constants_of(const u64* text) {
  const u32 parts = reinterpret_cast<const TextHeader*>(text)->parts;
  return text + 1 + parts + part_ends(text)[parts - 1];
}

// The order of a task's arguments: the text's address, an address for each
// access, the scalars, a TaskShape and, unless that is flat, a RowShape and a
// table.
struct TaskShape {
  u32 flat;       // bit a: access a walks through memory without gaps; else it
                  // stays where it is
  u8 flags;       // ShapeFlags
  u8 outer_dims;  // dimensions of a row's number
  u8 inner_dims;  // of a column's
  u8 unused;
};
static_assert(sizeof(TaskShape) == 8, "one argument");

enum ShapeFlags : u8 {
  kFlat = 1,      // one row, and every access is contiguous or constant
  kRows = 2,      // lanes that work together have a row each; else one for all
  kFarTable = 4,  // the table's address is there instead of the table
  kTransposed = 8,  // neighbouring lanes have neighbouring rows, not columns
  kSliced = 16      // several workers share a row, a tile for each slice
};

// A row with at least this many columns per lane is cut into slices.
enum : u32 { kSliceColumns = 32 };

struct RowShape {
  u64 columns;
  u32 rows;
  u32 row_lanes;  // lanes of a worker that share a row, a power of two
  u32 slices;     // kSliced: tiles that share a row
  u32 lanes;      // of a worker that work
  u64 gathered;   // kSliced: address of a counter for each group of rows, then
                  // of what the slices gathered
};
static_assert(sizeof(RowShape) == 32, "four arguments");

// The table has a u32 size for each dimension, outer ones first, and one more
// if their number is odd. An i64 stride for each dimension of each access
// follows. Units: bytes.

}  // namespace program
}  // namespace gpuos
