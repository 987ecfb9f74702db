#pragma once

#include <cstdint>

namespace gpuos {

/// Is the range of one runtime's queue on which a caller waits. It is a value
/// that may be copied, shared between threads and dropped.
struct Ticket {
  static constexpr std::uint16_t kAllBefore = 0xffff;

  std::uint64_t begin = 0;    // position of the first task
  std::uint64_t end = 0;      // one past the last; begin == end: done at once
  std::uint16_t ring = 0;     // which ring of the runtime
  std::uint16_t member = 0;   // of the chain there; its members end together.
                              // kAllBefore: everything that came before `end`
  std::uint32_t runtime = 0;  // which runtime of the process

  friend bool operator==(const Ticket&, const Ticket&) = default;
};

}  // namespace gpuos
