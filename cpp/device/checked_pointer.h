// Defines a pointer that knows how many elements it points to.
#pragma once

#include "complex.h"
#include "fault.h"
#include "gpuos/dtype_list.h"
#include "integers.h"
#include "short_floats.h"

namespace gpuos {
namespace checked {

#if defined(__CUDACC__)
#define GPUOS_COLD __noinline__
#else
#define GPUOS_COLD __attribute__((noinline, cold))
#endif

// ---- Dtypes of types.

// The numbers of gpuos::DType.
#define GPUOS_NAME(name, ...) k##name,
enum ElementType : u32 { GPUOS_DTYPES(GPUOS_NAME) };
#undef GPUOS_NAME

template <typename T>
struct BareOf {
  using type = T;
};
template <typename T>
struct BareOf<const T> : BareOf<T> {};
template <typename T>
struct BareOf<volatile T> : BareOf<T> {};
template <typename T>
struct BareOf<const volatile T> : BareOf<T> {};
template <typename T>
using Bare = typename BareOf<T>::type;

template <typename T>
struct TypeOf {
  enum : u32 { kValue = abi::kOtherType };
};
#define GPUOS_TYPE(name, text, bytes, kind, Stored, ...) \
  template <>                                            \
  struct TypeOf<Stored> {                                \
    enum : u32 { kValue = k##name };                     \
  };
GPUOS_DTYPES(GPUOS_TYPE)
#undef GPUOS_TYPE
// One of them is int64_t.
template <>
struct TypeOf<long> : TypeOf<long long> {};
template <>
struct TypeOf<unsigned long> : TypeOf<unsigned long long> {};

template <typename T>
GPUOS_DEVICE constexpr u32 type_of() {
  return TypeOf<Bare<T>>::kValue;
}

GPUOS_DEVICE inline u32 bytes_of(u32 type) {
  switch (type) {
#define GPUOS_CASE(name, text, bytes, ...) \
  case k##name:                            \
    return bytes;
    GPUOS_DTYPES(GPUOS_CASE)
#undef GPUOS_CASE
  }
  return 1;
}

// ---- Reports of failures.

// Each lane has memory next to its task. Reads out of range find a 0 there, and
// writes out of range are lost there, atomics included. The first failure of
// the lane is stored after it.
enum : u32 { kLostBytes = 64, kMaxLanes = 256 };

#if defined(__CUDACC__)
// An index out of range. It is reported after the lane has finished its task. A
// call in a loop would force the loop's values out of registers, for all lanes
// of all workers and for each task.
struct Noted {
  u64 where;  // argument << 32 | line, 0 if there is nothing
  i64 index;
  u64 extent;
};
enum : u64 { kIsReported = ~0ull };  // in place of `where`
static_assert(kMaxLanes * (kLostBytes + sizeof(Noted)) <= abi::kScratchBytes,
              "the worker's scratch has room");
#else
struct Aside {
  alignas(kLostBytes) char lost[kLostBytes];
  u32 has_reported;
};
#endif

struct Notes {
  abi::Fault* fault;
  void* state;  // the worker's scratch; on the host an Aside

#if defined(__CUDACC__)
  __device__ char* lost() const {
    return static_cast<char*>(state) + threadIdx.x * kLostBytes;
  }
  __device__ Noted& noted() const {
    return reinterpret_cast<Noted*>(static_cast<char*>(state) +
                                    kMaxLanes * kLostBytes)[threadIdx.x];
  }
  __device__ void begin() const { noted().where = 0; }
  // Returns whether this lane reports its first fault.
  __device__ bool is_first_fault() const {
    const bool is_first = noted().where == 0;
    if (is_first) noted().where = kIsReported;
    return is_first;
  }
  // Returns whether no other thread has reported a fault of this task.
  __device__ bool takes_fault() const {
    return atomicCAS(&fault->state, u32{abi::kNoFault},
                     u32{abi::kFaultIsWritten}) == abi::kNoFault;
  }
  // The host reads the fault when the task is done. The fence of the system
  // comes before the barrier that follows the task, so what is written here has
  // passed the bus before finish_task() or finish_burst() stores `done`; pairs
  // with the acquire load in Ring::is_done().
  __device__ void publish() const {
    __threadfence_system();
    *static_cast<volatile u32*>(&fault->state) = abi::kFault;
    __threadfence_system();
  }
#else
  char* lost() const { return static_cast<Aside*>(state)->lost; }
  // Returns whether this lane reports its first fault.
  bool is_first_fault() const {
    u32& has_reported = static_cast<Aside*>(state)->has_reported;
    const bool is_first = has_reported == 0;
    has_reported = 1;
    return is_first;
  }
  // Returns true to one of the threads that run tiles of a task. It pairs with
  // nothing, because a thread that gets false writes nothing.
  bool takes_fault() const {
    u32 expected = abi::kNoFault;
    return __atomic_compare_exchange_n(&fault->state, &expected,
                                       u32{abi::kFaultIsWritten}, false,
                                       __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
  // Pairs with the acquire load in FaultTable::settle().
  void publish() const {
    __atomic_store_n(&fault->state, u32{abi::kFault}, __ATOMIC_RELEASE);
  }
#endif
};

// Each lane reports at most once per task, and only one lane does.
GPUOS_DEVICE inline bool begins_fault(const Notes& notes) {
  return notes.is_first_fault() && notes.takes_fault();
}

GPUOS_COLD static GPUOS_DEVICE void note_access(Notes notes, u32 kind,
                                                u32 argument, u32 line,
                                                u32 type, u32 buffers) {
  if (!begins_fault(notes)) return;
  notes.fault->kind = kind;
  notes.fault->argument = argument;
  notes.fault->line = line;
  notes.fault->type = type;
  notes.fault->buffers = buffers;
  notes.publish();
}

GPUOS_DEVICE inline void tell_index(const Notes& notes, u32 argument, i64 index,
                                    u64 extent, u32 line) {
  notes.fault->kind = abi::kIndexFault;
  notes.fault->argument = argument;
  notes.fault->line = line;
  notes.fault->index = index;
  notes.fault->extent = extent;
  notes.publish();
}

// Returns the address of a replacement for an element of `kBytes` bytes.
#if defined(__CUDACC__)
template <u32 kBytes>
__device__ inline void* note_index(const Notes& notes, u32 argument, i64 index,
                                   u64 extent, u32 line) {
  Noted& noted = notes.noted();
  if (noted.where == 0) noted = {u64{argument} << 32 | line, index, extent};
  u64* const lost = reinterpret_cast<u64*>(notes.lost());
#pragma unroll
  for (u32 i = 0; i * sizeof(u64) < kBytes; ++i) lost[i] = 0;
  return lost;
}
// Reports the failure of a lane that has finished its task.
__device__ __noinline__ static void tell_noted(Notes notes) {
  const Noted noted = notes.noted();
  if (notes.takes_fault())
    tell_index(notes, static_cast<u32>(noted.where >> 32), noted.index,
               noted.extent, static_cast<u32>(noted.where));
}
__device__ inline void finish(const Notes& notes) {
  const u64 where = notes.noted().where;
  if (where != 0 && where != kIsReported) tell_noted(notes);
}
#else
template <u32 kBytes>
GPUOS_COLD void* note_index(const Notes& notes, u32 argument, i64 index,
                            u64 extent, u32 line) {
  if (begins_fault(notes)) tell_index(notes, argument, index, extent, line);
  char* const lost = notes.lost();
  for (u32 i = 0; i < kBytes; ++i) lost[i] = 0;
  return lost;
}
inline void finish(const Notes&) {}
#endif

GPUOS_COLD static GPUOS_DEVICE void note_assert(Notes notes, const char* text,
                                                u32 line) {
  if (!begins_fault(notes)) return;
  notes.fault->kind = abi::kAssertFault;
  notes.fault->line = line;
  u32 i = 0;
  for (; i + 1 < abi::Fault::kTextBytes && text[i] != 0; ++i)
    notes.fault->text[i] = text[i];
  notes.fault->text[i] = 0;
  notes.publish();
}

// ---- The pointer.

// An index, and the line of the source that has it.
struct At {
  i64 value;
  u32 line;
  u32 low;      // the lower bits of it,
  bool is_low;  // which are all

  template <typename I>
  GPUOS_DEVICE At(I index, u32 at = __builtin_LINE())
      : value(static_cast<i64>(index)),
        line(at),
        low(static_cast<u32>(index)),
        is_low(value == static_cast<i64>(low)) {}
};

// Describes how many elements a pointer has. `is_of_task`: as many as the task.
struct Elements {
  u64 count;
  bool is_of_task;
};

template <typename From, typename To>
concept PointsAs = requires(From* from, To*& to) { to = from; };

template <typename T>
class Pointer {
  static_assert(sizeof(T) <= kLostBytes, "an element that may be lost");

 public:
  GPUOS_DEVICE Pointer(T* base, Elements elements, u32 argument, u32 line,
                       Notes notes)
      : base_(base),
        elements_(elements),
        notes_(notes),
        argument_(argument),
        line_(line) {}
  template <typename U>
    requires PointsAs<U, T>
  GPUOS_DEVICE Pointer(const Pointer<U>& other)
      : base_(other.base_),
        index_(other.index_),
        elements_(other.elements_),
        notes_(other.notes_),
        argument_(other.argument_),
        line_(other.line_) {}

  GPUOS_DEVICE T& operator[](At at) const {
    // Uses the same words as the loop that counts to it. The compiler then
    // drops this comparison.
    if (index_ == 0 && elements_.is_of_task && at.is_low &&
        at.low < static_cast<u32>(elements_.count))
      return base_[at.low];
    return *find(index_ + at.value, at.line);
  }
  GPUOS_DEVICE T& operator*() const { return *find(index_, line_); }
  GPUOS_DEVICE T* operator->() const { return find(index_, line_); }

  GPUOS_DEVICE Pointer& operator+=(At by) {
    index_ += by.value;
    line_ = by.line;
    return *this;
  }
  GPUOS_DEVICE Pointer& operator-=(At by) {
    index_ -= by.value;
    line_ = by.line;
    return *this;
  }
  GPUOS_DEVICE Pointer operator+(At by) const { return Pointer(*this) += by; }
  GPUOS_DEVICE Pointer operator-(At by) const { return Pointer(*this) -= by; }
  GPUOS_DEVICE Pointer& operator++() {
    ++index_;
    return *this;
  }
  GPUOS_DEVICE Pointer operator++(int) {
    const Pointer before = *this;
    ++index_;
    return before;
  }
  GPUOS_DEVICE Pointer& operator--() {
    --index_;
    return *this;
  }
  GPUOS_DEVICE Pointer operator--(int) {
    const Pointer before = *this;
    --index_;
    return before;
  }
  template <typename U>
  GPUOS_DEVICE i64 operator-(const Pointer<U>& other) const {
    return raw() - other.raw();
  }
  template <typename U>
  GPUOS_DEVICE bool operator==(const Pointer<U>& other) const {
    return raw() == other.raw();
  }
#define GPUOS_COMPARES(op)                                       \
  template <typename U>                                          \
  GPUOS_DEVICE bool operator op(const Pointer<U>& other) const { \
    return raw() op other.raw();                                 \
  }
  GPUOS_COMPARES(<)
  GPUOS_COMPARES(<=)
  GPUOS_COMPARES(>)
  GPUOS_COMPARES(>=)
#undef GPUOS_COMPARES
  GPUOS_DEVICE bool operator==(decltype(nullptr)) const {
    return base_ == nullptr;
  }
  GPUOS_DEVICE explicit operator bool() const { return base_ != nullptr; }

  // Converts to a plain pointer, whose accesses are not checked. This is a
  // template, because otherwise it would compete with the operators above.
  template <typename U>
    requires PointsAs<T, U>
  GPUOS_DEVICE operator U*() const {
    return raw();
  }
  GPUOS_DEVICE T* raw() const { return base_ + index_; }

  // Returns whether `count` elements exist from here on. Notes the last one.
  GPUOS_DEVICE bool has(u64 count, u32 line) const {
    const u64 from = static_cast<u64>(index_);
    const u64 elements = elements_.count;
    if (from <= elements && count <= elements - from) return true;
    note_index<0>(notes_, argument_, index_ + static_cast<i64>(count) - 1,
                  elements, line);
    return false;
  }

 private:
  template <typename U>
  friend class Pointer;

  GPUOS_DEVICE T* find(i64 index, u32 line) const {
    if (__builtin_expect(static_cast<u64>(index) < elements_.count, 1))
      return base_ + index;
    return static_cast<T*>(
        note_index<sizeof(T)>(notes_, argument_, index, elements_.count, line));
  }

  T* base_;
  i64 index_ = 0;
  Elements elements_;
  Notes notes_;
  u32 argument_;
  u32 line_;  // of what it came from
};

template <typename T>
GPUOS_DEVICE inline T* raw_of(const Pointer<T>& pointer) {
  return pointer.raw();
}
template <typename T>
GPUOS_DEVICE inline T* raw_of(T* pointer) {
  return pointer;
}
template <typename T>
GPUOS_DEVICE inline bool has(const Pointer<T>& pointer, u64 count, u32 line) {
  return pointer.has(count, line);
}
template <typename T>
GPUOS_DEVICE inline bool has(T*, u64, u32) {
  return true;
}

}  // namespace checked
}  // namespace gpuos
