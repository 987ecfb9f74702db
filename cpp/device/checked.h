// A checked operator gets this in place of gpuos::Task. Its pointers know their
// number of elements. After a failure the task continues with a 0, or with
// memory that no other task reads.
#pragma once

#include "asserts.h"
#include "checked_pointer.h"
#include "map.h"

// assert() finds this name outside of GPUOS_OPERATOR.
enum GpuosNoNotes : gpuos::u32 { gpuos_notes };

namespace gpuos {
namespace checked {

// The compiler knows these constants of an operator's arguments. kWords is the
// number of words of a task. kBuffers is the number of outputs and inputs, and
// 0 means any number.
template <u32 kWords, bool kElementwise, u32 kBuffers, u32 kElement,
          u32... kParams>
struct Table {
  static GPUOS_DEVICE u32 buffers(const u64* args) {
    return kBuffers != 0
               ? kBuffers
               : static_cast<u32>(args[kWords - 1] >> abi::kBuffersAt);
  }
  static GPUOS_DEVICE abi::Fault* fault(const u64* args) {
    return reinterpret_cast<abi::Fault*>(args[kWords - 1] &
                                         ((u64{1} << abi::kBuffersAt) - 1));
  }
  static GPUOS_DEVICE Elements elements(const u64* args, u32 buffer,
                                        u32 count) {
    if (kElementwise || buffer == 0) return {count, true};
    const u64 said = args[kWords - 2 - buffer];
    return {said == abi::kAsTask ? count : said, false};
  }
  static GPUOS_DEVICE u32 params() { return sizeof...(kParams); }
  static GPUOS_DEVICE u32 type_of_param(u32 index) {
    const u32 types[] = {kParams..., abi::kOtherType};
    return types[index];
  }
  static GPUOS_DEVICE u32 element() { return kElement; }
};

template <typename T>
class Task : public gpuos::Task {
 public:
  GPUOS_DEVICE Task(const gpuos::Task& task, Notes notes)
      : gpuos::Task(task), notes_(notes) {}

  template <typename E>
  GPUOS_DEVICE Pointer<E> pointer(u32 index,
                                  u32 line = __builtin_LINE()) const {
    const u32 buffers = T::buffers(args);
    if (index >= buffers) {
      refuse<E>(index, line, abi::kPointerFault, buffers);
      return {nullptr, Elements{}, index, line, notes_};
    }
    E* const base = gpuos::Task::pointer<E>(index);
    const Elements elements = T::elements(args, index, count);
    constexpr u32 kType = type_of<E>();
    if (kType == T::element()) return {base, elements, index, line, notes_};
    // A type without a dtype may span several elements.
    if (kType == abi::kOtherType)
      return {base,
              {elements.count * bytes_of(T::element()) / sizeof(E), false},
              index,
              line,
              notes_};
    refuse<E>(index, line, abi::kPointerFault, buffers);
    return {base, Elements{}, index, line, notes_};
  }

  template <typename E>
  GPUOS_DEVICE E scalar(u32 index, u32 line = __builtin_LINE()) const {
    const u32 buffers = T::buffers(args);
    const u32 param = index - buffers;
    if (index >= buffers && param < T::params()) {
      constexpr u32 kType = type_of<E>();
      const u32 is = T::type_of_param(param);
      if (kType == is ||
          (kType == abi::kOtherType && sizeof(E) == bytes_of(is)))
        return gpuos::Task::scalar<E>(index);
    }
    refuse<E>(index, line, abi::kScalarFault, buffers);
    return E();
  }

 private:
  template <typename E>
  GPUOS_DEVICE void refuse(u32 index, u32 line, u32 kind, u32 buffers) const {
    if (index >= buffers + T::params()) kind = abi::kArgumentFault;
    note_access(notes_, kind, index, line, type_of<E>(), buffers);
  }

  Notes notes_;
};

#if defined(__CUDACC__)
__device__ inline void fail_assert(Notes notes, const char* text, u32 line) {
  note_assert(notes, text, line);
}
// Stops the kernel, as CUDA's assert() does.
__device__ inline void fail_assert(GpuosNoNotes, const char*, u32) { __trap(); }

#define GPUOS_CHECKED_NOTES(notes, fault, task)                            \
  const gpuos::checked::Notes notes{fault, const_cast<void*>(task.state)}; \
  notes.begin()
#else
#define GPUOS_CHECKED_NOTES(notes, fault, task) \
  gpuos::checked::Aside aside;                  \
  aside.has_reported = 0;                       \
  const gpuos::checked::Notes notes { fault, &aside }
#endif

}  // namespace checked

// These functions of the other headers take pointers.

template <u32 kWidth, typename T>
GPUOS_DEVICE inline bool is_aligned(const checked::Pointer<T>& address) {
  return is_aligned<kWidth>(address.raw());
}
template <u32 kWidth, typename T>
GPUOS_DEVICE inline auto load_vector(const checked::Pointer<T>& from,
                                     u32 line = __builtin_LINE()) {
  using V = Vector<checked::Bare<T>, kWidth>;
  return from.has(kWidth, line) ? load_vector<kWidth>(from.raw()) : V{};
}
template <u32 kWidth, typename T>
GPUOS_DEVICE inline auto load_vector_unaligned(const checked::Pointer<T>& from,
                                               u32 line = __builtin_LINE()) {
  using V = Vector<checked::Bare<T>, kWidth>;
  return from.has(kWidth, line) ? load_vector_unaligned<kWidth>(from.raw())
                                : V{};
}
template <typename T, u32 kWidth>
GPUOS_DEVICE inline void store_vector(const checked::Pointer<T>& to,
                                      const Vector<T, kWidth>& vector,
                                      u32 line = __builtin_LINE()) {
  if (to.has(kWidth, line)) store_vector(to.raw(), vector);
}
template <typename T, u32 kWidth>
GPUOS_DEVICE inline void store_vector_unaligned(const checked::Pointer<T>& to,
                                                const Vector<T, kWidth>& vector,
                                                u32 line = __builtin_LINE()) {
  if (to.has(kWidth, line)) store_vector_unaligned(to.raw(), vector);
}

// Transfers all elements at once, or none if one of the arrays is shorter.
template <typename T, typename F, typename... In>
GPUOS_DEVICE inline void map(const checked::Pointer<T>& out, checked::At count,
                             Lane lane, F f, const In&... in) {
  const u32 line = count.line;
  const u32 elements = static_cast<u32>(count.value);
  if (out.has(elements, line) && (checked::has(in, elements, line) && ...))
    map<T>(out.raw(), elements, lane, f, checked::raw_of(in)...);
}
template <typename T, u32 kMaxUnroll, typename F, typename... In>
GPUOS_DEVICE inline void map(const checked::Pointer<T>& out, checked::At count,
                             Lane lane, F f, const In&... in) {
  map(out, count, lane, f, in...);
}

}  // namespace gpuos

// Replaces GPUOS_OPERATOR, where GPUOS_CHECKED_TABLE is a Table. assert() uses
// `gpuos_notes`.
#define GPUOS_CHECKED_OPERATOR(name)                                  \
  static GPUOS_DEVICE void gpuos_checked_##name(                      \
      gpuos::checked::Task<gpuos::checked::GPUOS_CHECKED_TABLE> task, \
      gpuos::Lane lane, gpuos::checked::Notes gpuos_notes);           \
  extern "C" GPUOS_DEVICE void gpuos_op_##name(gpuos::Task task,      \
                                               gpuos::Lane lane) {    \
    using Table = gpuos::checked::GPUOS_CHECKED_TABLE;                \
    GPUOS_CHECKED_NOTES(notes, Table::fault(task.args), task);        \
    gpuos_checked_##name({task, notes}, lane, notes);                 \
    finish(notes);                                                    \
  }                                                                   \
  extern "C" {                                                        \
  GPUOS_ENTRY gpuos::OpFn gpuos_entry_##name = gpuos_op_##name;       \
  }                                                                   \
  static GPUOS_DEVICE void gpuos_checked_##name(                      \
      [[maybe_unused]] gpuos::checked::Task<                          \
          gpuos::checked::GPUOS_CHECKED_TABLE>                        \
          task,                                                       \
      [[maybe_unused]] gpuos::Lane lane,                              \
      [[maybe_unused]] gpuos::checked::Notes gpuos_notes)
