#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "device/task_abi.h"
#include "queue/hazards.h"
#include "queue/ring.h"

namespace gpuos {

/// The blocks that store members of chains. They are used in rotation: a block
/// is free again when its batch is done.
///
/// Threads: holds the submit lock.
class ChainBlocks {
 public:
  static constexpr std::uint32_t kCount = 256;
  static constexpr std::size_t kBytes =
      std::size_t{kCount} * abi::kChainRecords * sizeof(abi::Member);

  /// `memory`: kBytes that the workers reach at the same address.
  ChainBlocks(abi::Member* memory, std::span<Ring* const> rings)
      : memory_(memory), rings_(rings), owners_(kCount) {}

  /// The batch that must be done before take(). Null if there is a block.
  const BatchRef* blocker() const noexcept {
    const Owner& owner = owners_[next_];
    if (!owner.is_set || rings_[owner.batch.ring]->is_done(owner.batch.begin))
      return nullptr;
    return &owner.batch;
  }
  abi::Member* take(const BatchRef& owner) {
    owners_[next_] = {owner, true};
    abi::Member* block = memory_ + std::size_t{next_} * abi::kChainRecords;
    next_ = (next_ + 1) % kCount;
    return block;
  }
  /// Takes the block that begins at `end`, where another one of the same owner
  /// ends. False: it is not the next one, or not free.
  bool take_behind(const abi::Member* end, const BatchRef& owner) {
    if (memory_ + std::size_t{next_} * abi::kChainRecords != end ||
        blocker() != nullptr)
      return false;
    take(owner);
    return true;
  }

 private:
  struct Owner {
    BatchRef batch;
    bool is_set = false;
  };

  abi::Member* memory_;
  std::span<Ring* const> rings_;
  std::vector<Owner> owners_;
  std::uint32_t next_ = 0;
};

}  // namespace gpuos
