#include "queue/chains.h"

#include <algorithm>

#include "queue/descriptor.h"
#include "queue/task_writer.h"

namespace gpuos {
namespace {

/// A task begins a chain only if it depends on one of the last `kNear` places.
/// With more parallel rows, each chain would be closed after its first member.
constexpr std::uint64_t kNear = 2 * OpenChains::kMost;

u16 distance_of(std::uint64_t position, std::uint64_t earlier) {
  return static_cast<u16>(position - earlier);
}

/// The record that it takes.
std::uint32_t add_member(abi::Payload& chain, const Call& call) {
  const std::uint32_t record = chain.count;
  gpuos::add_member(chain, call.slot, static_cast<u32>(call.count),
                    call.args.data(), call.arg_count);
  return record;
}

/// Makes the task at `position` of `ring` the first member of `chain`.
void add_member(abi::Payload& chain, const Ring& ring, std::uint64_t position,
                const abi::Payload& task) {
  const bool in_block = (task.flags & abi::kArgsInBlock) != 0;
  gpuos::add_member(
      chain, task.op, task.count, ring.args_of(position, task),
      in_block ? static_cast<u32>(task.args[0]) : u32{abi::kInlineArgs});
}

/// Adds waits for the batches that are not `position` itself. False: there is
/// no room, or one of them is later and may be claimed later.
bool add_waits(abi::Payload& chain, std::uint64_t position,
               const HazardTable::Conflicts& conflicts) {
  abi::Payload longer = chain;
  for (const BatchRef& batch : conflicts.view()) {
    if (batch.begin == position) continue;
    if (batch.begin > position) return false;
    const u16 distance = distance_of(position, batch.begin);
    if (waits_for(longer, distance)) continue;
    if (longer.parts == abi::kMaxChainWaits) return false;
    add_wait(longer, distance);
  }
  chain = longer;
  return true;
}

}  // namespace

Chains::Followed Chains::follow(const Call& call,
                                const HazardTable::Conflicts& conflicts,
                                const Route& route, Place& place,
                                BatchRef& blocker) {
  if (conflicts.overflow) return Followed::No;
  Followed followed = Followed::Yes;
  if (route.ring != kChainRing) {
    followed = follow_in_flush(call, conflicts, route, place, blocker);
  } else {
    for (const BatchRef& batch : conflicts.view()) {
      if (batch.ring != kChainRing) return Followed::No;
    }
    if (!grow_chain(call, conflicts, place))
      followed = open_chain(call, conflicts, route, place, blocker);
  }
  if (followed != Followed::Yes) return followed;
  note(call, {route.ring, place.batch_begin, route.stream}, place.first);
  count_member();
  return Followed::Yes;
}

inline std::uint32_t Chains::add_to_open(const Call& call,
                                         std::uint64_t position) {
  abi::Payload* chain = traits_.chains->find(position);
  if (chain == nullptr || !has_room(chain->count, call.arg_count)) return 0;
  return add_member(*chain, call);
}

inline std::uint32_t Chains::find_room(const Route& route,
                                       const BatchRef& flush,
                                       abi::Member* block,
                                       std::uint32_t records,
                                       std::uint32_t args) {
  if (has_room(records, args)) [[likely]]
    return records;
  const std::uint32_t blocks = chain_blocks(records);
  const abi::Member* end = block + std::size_t{blocks} * abi::kChainRecords;
  if (blocks >= backend_.most_chain_blocks(route) ||
      !traits_.chain_blocks->take_behind(end, flush))
    return 0;
  return write_gap(block, records);
}

inline std::uint32_t Chains::add_to_flush(
    const Call& call, const Route& route,
    const ChainFootprints::Footprint& footprint) {
  Ring& ring = *traits_.rings[route.ring];
  static_assert(abi::kChainBlock == abi::kInlineArgs - 1, "the last one");
  abi::Descriptor& chain = ring.descriptor(footprint.position);
  auto* block = reinterpret_cast<abi::Member*>(last_arg_of(chain));
  const std::uint32_t record =
      find_room(route, footprint.batch, block, count_of(chain), call.arg_count);
  if (record != 0)
    set_count(chain, write_member(block, record, call.slot,
                                  static_cast<u32>(call.count),
                                  call.args.data(), call.arg_count));
  return record;
}

bool Chains::follow_footprint(const Call& call, const Route& route,
                              Ticket& ticket) {
  if (call.op->is_traced.load(std::memory_order_relaxed)) return false;
  ChainFootprints::Footprint* footprint =
      footprints_.find(route.ring, route.stream, call.access_view());
  if (footprint == nullptr) return false;
  std::uint32_t member = 0;
  if (route.ring == kChainRing)
    member = add_to_open(call, footprint->position);
  else if (route.collects(footprint->batch))
    member = add_to_flush(call, route, *footprint);
  if (member == 0) {
    ChainFootprints::forget(*footprint);
    return false;
  }
  traits_.rings[route.ring]->add_to_place(footprint->batch.begin);
  SubmitCounts::add(counts_.tasks, 1);
  SubmitCounts::add(counts_.batches, 1);
  count_member();
  ticket.begin = footprint->batch.begin;
  ticket.end = footprint->position + 1;
  ticket.ring = static_cast<std::uint16_t>(route.ring);
  ticket.member = static_cast<std::uint16_t>(member);
  return true;
}

bool Chains::grow_chain(const Call& call,
                        const HazardTable::Conflicts& conflicts, Place& place) {
  OpenChains& chains = *traits_.chains;
  abi::Payload* chain = nullptr;
  std::uint64_t position = 0;
  for (const BatchRef& batch : conflicts.view()) {
    abi::Payload* open = chains.find(batch.begin);
    if (open == nullptr || (chain != nullptr && batch.begin < position))
      continue;
    chain = open;
    position = batch.begin;
  }
  if (chain == nullptr || !has_room(chain->count, call.arg_count) ||
      !add_waits(*chain, position, conflicts))
    return false;
  // It waits for the others among them, which must run then.
  for (const BatchRef& batch : conflicts.view()) {
    if (batch.begin != position) chains.close(batch.begin);
  }
  place = {position, position, 1, add_member(*chain, call)};
  traits_.rings[kChainRing]->add_to_place(position);
  return true;
}

Chains::Followed Chains::open_chain(const Call& call,
                                    const HazardTable::Conflicts& conflicts,
                                    const Route& route, Place& place,
                                    BatchRef& blocker) {
  if (conflicts.count > abi::kMaxChainWaits) return Followed::No;
  const std::uint64_t head = traits_.rings[kChainRing]->head();
  if (std::ranges::none_of(conflicts.view(), [=](const BatchRef& batch) {
        return batch.begin + kNear >= head;
      }))
    return Followed::No;
  dependencies_.close_chains(conflicts);
  // Runs before the place is taken: a closed chain is published up to the head.
  OpenChains& chains = *traits_.chains;
  chains.make_room();
  if (const BatchRef* owner = traits_.chain_blocks->blocker()) {
    blocker = *owner;
    return Followed::Blocked;
  }
  const auto reserved = backend_.reserve(route, 1);
  if (!reserved) {
    blocker = oldest_of(traits_.rings, kChainRing);
    return Followed::Blocked;
  }
  place = *reserved;
  abi::Member* block =
      traits_.chain_blocks->take({kChainRing, place.first, nullptr});
  abi::Payload& chain = chains.open(place.first, block);
  add_waits(chain, place.first, conflicts);
  add_member(chain, call);
  SubmitCounts::add(counts_.chains, 1);
  return Followed::Yes;
}

Chains::Followed Chains::follow_in_flush(
    const Call& call, const HazardTable::Conflicts& conflicts,
    const Route& route, Place& place, BatchRef& blocker) {
  // One of the batches is the flush. Others are waited for as by any task of
  // the flush.
  HazardTable::Conflicts others;
  const BatchRef* flush = nullptr;
  std::uint64_t position = HazardTable::kNoPosition;
  for (std::size_t i = 0; i < conflicts.count; ++i) {
    if (route.collects(conflicts.batches[i])) {
      flush = &conflicts.batches[i];
      position = conflicts.positions[i];
    } else {
      others.batches[others.count++] = conflicts.batches[i];
    }
  }
  if (position == HazardTable::kNoPosition) return Followed::No;
  Ring& ring = *traits_.rings[route.ring];
  abi::Payload payload = read_payload(ring.descriptor(position));
  const bool is_new = !abi::is_chain(payload.flags);
  const u16 traced = payload.flags & abi::kTraced;
  if (!is_new) {
    // Whole operators may take long. A task that does not depend on the newest
    // one runs in parallel with the chain.
    if (traced != 0) {
      const auto* footprint = footprints_.known(*flush, position);
      if (footprint == nullptr || !footprint->meets_newest(call.access_view()))
        return Followed::No;
      if (payload.count >= most_traced_) {
        most_traced_ = backend_.is_busy(route)
                           ? kFewTraced
                           : std::min(2 * most_traced_, kMostTraced);
        return Followed::No;
      }
    }
    auto* block =
        reinterpret_cast<abi::Member*>(payload.args[abi::kChainBlock]);
    payload.count =
        find_room(route, *flush, block, payload.count, call.arg_count);
    if (payload.count == 0) return Followed::No;
  }
  if (others.count != 0) {
    dependencies_.close_chains(others);
    const Order order = backend_.order(route, others.view());
    if (order.wait_on_host) {
      blocker = *order.wait_on_host;
      return Followed::Blocked;
    }
  }
  if (is_new) {
    if (const BatchRef* owner = traits_.chain_blocks->blocker()) {
      blocker = *owner;
      return Followed::Blocked;
    }
    abi::Payload chain = make_chain(traits_.chain_blocks->take(*flush));
    chain.batch_offset = payload.batch_offset;
    chain.batch_size = payload.batch_size;
    add_member(chain, ring, position, payload);
    payload = chain;
    SubmitCounts::add(counts_.chains, 1);
  }
  payload.flags = static_cast<u16>(payload.flags | traced | traced_flag(call));
  place = {position, flush->begin, 0, add_member(payload, call)};
  ring.write(position, payload);
  ring.add_to_place(flush->begin);
  return Followed::Yes;
}

void Chains::note(const Call& call, const BatchRef& batch,
                  std::uint64_t position) {
  ChainFootprints::Footprint& footprint =
      footprints_.footprint_of(batch, position);
  for (const Access& access : call.access_view()) {
    if (ChainFootprints::add(footprint, access))
      dependencies_.add({&access, 1}, batch, HazardTable::kAlone, position);
  }
  if (batch.ring != kChainRing &&
      is_traced(traits_.rings[batch.ring]->descriptor(position)))
    footprint.set_newest(call.access_view());
}

}  // namespace gpuos
