// What a checked operator says of what went wrong. Read by the host compiler,
// nvcc and NVRTC.
#pragma once

#include "task_abi.h"

namespace gpuos {
namespace abi {

// In place of a DType's number.
enum : u32 { kOtherType = 255 };

enum FaultState : u32 { kNoFault, kFaultIsWritten, kFault };

enum FaultKind : u32 {
  kIndexFault,     // `index` is outside of `extent` elements
  kPointerFault,   // read as a pointer to `type`, which it is not
  kScalarFault,    // read as a scalar of `type`, which it is not
  kArgumentFault,  // there is no argument of that number
  kAssertFault     // `text` is false
};

// The first failure of a task: memory that the host reads when it is done.
struct alignas(64) Fault {
  enum Limit : u32 { kTextBytes = 88 };

  u32 state;  // FaultState
  u32 kind;   // FaultKind
  u32 argument;
  u32 line;  // of the source
  long long index;
  u64 extent;
  u32 type;               // a DType, or kOtherType
  u32 buffers;            // output and inputs of the task
  char text[kTextBytes];  // ends with a 0
};
static_assert(sizeof(Fault) == 128, "two cache lines");

// What a checked task is given behind its arguments, from the last word to the
// first: where its Fault lies, with the number of its buffers in the upper
// byte; and unless it is elementwise the elements of each buffer.
enum : u32 { kBuffersAt = 56 };
// As elements of a buffer: those of the task.
enum : u64 { kAsTask = ~u64{0} };

}  // namespace abi

#if !defined(__CUDACC__)
// What assert() throws and the worker catches.
struct AssertFailure {
  const char* text;  // of the operator's code
  u32 line;
};
#endif

}  // namespace gpuos
