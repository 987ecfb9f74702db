#include "queue/open_chains.h"

#include <algorithm>

namespace gpuos {

abi::Payload* OpenChains::find(std::uint64_t begin) noexcept {
  if (is_empty()) return nullptr;
  for (Chain& chain : chains_) {
    if (chain.is_open && chain.begin == begin) return &chain.payload;
  }
  return nullptr;
}

std::uint64_t OpenChains::first(std::uint64_t end) const noexcept {
  for (const Chain& chain : chains_) {
    if (chain.is_open) end = std::min(end, chain.begin);
  }
  return end;
}

void OpenChains::make_room() {
  if (count_.load(std::memory_order_relaxed) == kMost) close(first(~0ull));
}

abi::Payload& OpenChains::open(std::uint64_t position, abi::Member* block) {
  const auto free = std::ranges::find(chains_, false, &Chain::is_open);
  *free = {true, position, Clock::now(), make_chain(block)};
  count_.fetch_add(1, std::memory_order_relaxed);
  opened_();
  return free->payload;
}

template <typename Is>
void OpenChains::close_if(Is is) {
  if (is_empty()) return;
  bool closes = false;
  for (Chain& chain : chains_) {
    if (!chain.is_open || !is(chain)) continue;
    chain.is_open = false;
    count_.fetch_sub(1, std::memory_order_relaxed);
    chain.payload.batch_size = 1;
    ring_.write(chain.begin, simplest(chain.payload));
    closes = true;
  }
  if (closes) closed_();
}

void OpenChains::close(std::uint64_t begin) {
  close_if([=](const Chain& chain) { return chain.begin == begin; });
}

void OpenChains::close_until(std::uint64_t last) {
  close_if([=](const Chain& chain) { return chain.begin <= last; });
}

void OpenChains::close_old(std::chrono::microseconds age) {
  if (is_empty()) return;
  const Clock::time_point oldest = Clock::now() - age;
  close_if([=](const Chain& chain) { return chain.since <= oldest; });
}

}  // namespace gpuos
