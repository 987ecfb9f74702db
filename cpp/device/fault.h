// The report of a checked operator's failure. The host compiler, nvcc and NVRTC
// read it.
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

// A checked task has more words after its arguments, from the last one to the
// first. One holds the address of its Fault, with the number of buffers in the
// upper byte. Tasks that are not elementwise also have the number of elements
// of each buffer.
enum : u32 { kBuffersAt = 56 };
// Means that a buffer has as many elements as the task.
enum : u64 { kAsTask = ~u64{0} };

}  // namespace abi

#if !defined(__CUDACC__)
// assert() throws this, and the worker catches it.
struct AssertFailure {
  const char* text;  // of the operator's code
  u32 line;
};
#endif

}  // namespace gpuos
