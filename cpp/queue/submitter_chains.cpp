// Which tasks follow others in one worker, as members of a chain.
#include <algorithm>

#include "queue/chain.h"
#include "queue/submitter.h"

namespace gpuos {
namespace {

/// A task begins a chain behind one of the last so many places only: of more
/// rows side by side, each chain would be closed with its first member.
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

Submitter::Followed Submitter::follow(const Call& call,
                                      const HazardTable::Conflicts& conflicts,
                                      Plan& plan, Place& place,
                                      BatchRef& blocker) {
  if (conflicts.overflow || !may_follow(call, plan)) return Followed::No;
  Followed followed = Followed::Yes;
  if (plan.route.ring != kChainRing) {
    followed = follow_in_flush(call, conflicts, plan, place, blocker);
  } else {
    for (const BatchRef& batch : conflicts.view()) {
      if (batch.ring != kChainRing) return Followed::No;
    }
    if (!grow_chain(call, conflicts, place))
      followed = open_chain(call, conflicts, plan, place, blocker);
  }
  if (followed != Followed::Yes) return followed;
  plan.is_chained = true;
  note(call, plan, place);
  count_member();
  return Followed::Yes;
}

inline std::uint32_t Submitter::add_to_open(const Call& call,
                                            std::uint64_t position) {
  abi::Payload* chain = backend_.chains().find(position);
  if (chain == nullptr || !has_room(chain->count, call.arg_count)) return 0;
  return add_member(*chain, call);
}

inline std::uint32_t Submitter::find_room(const Route& route,
                                          const BatchRef& flush,
                                          abi::Member* block,
                                          std::uint32_t records,
                                          std::uint32_t args) {
  if (has_room(records, args)) [[likely]]
    return records;
  const std::uint32_t blocks = chain_blocks(records);
  const abi::Member* end = block + std::size_t{blocks} * abi::kChainRecords;
  if (blocks >= backend_.most_chain_blocks(route) ||
      !backend_.chain_blocks().take_behind(end, flush))
    return 0;
  return write_gap(block, records);
}

inline std::uint32_t Submitter::add_to_flush(const Call& call,
                                             const Route& route,
                                             const ChainRows::Row& row) {
  Ring& ring = *rings_[route.ring];
  static_assert(abi::kChainBlock == abi::kInlineArgs - 1, "the last one");
  auto* block = reinterpret_cast<abi::Member*>(ring.last_arg_at(row.position));
  const std::uint32_t record = find_room(
      route, row.batch, block, ring.count_at(row.position), call.arg_count);
  if (record != 0)
    ring.set_count(
        row.position,
        write_member(block, record, call.slot, static_cast<u32>(call.count),
                     call.args.data(), call.arg_count));
  return record;
}

bool Submitter::follow_row(const Call& call, const Route& route,
                           Ticket& ticket) {
  ChainRows::Row* row =
      rows_.find(route.ring, route.stream, call.access_view());
  if (row == nullptr) return false;
  std::uint32_t member = 0;
  if (route.ring == kChainRing)
    member = add_to_open(call, row->position);
  else if (route.collects(row->batch))
    member = add_to_flush(call, route, *row);
  if (member == 0) {
    ChainRows::forget(*row);
    return false;
  }
  rings_[route.ring]->add_to_place(row->batch.begin);
  count(tasks_, 1);
  count(batches_, 1);
  count_member();
  ticket.begin = row->batch.begin;
  ticket.end = row->position + 1;
  ticket.ring = static_cast<std::uint16_t>(route.ring);
  ticket.member = static_cast<std::uint16_t>(member);
  return true;
}

bool Submitter::grow_chain(const Call& call,
                           const HazardTable::Conflicts& conflicts,
                           Place& place) {
  OpenChains& chains = backend_.chains();
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
  rings_[kChainRing]->add_to_place(position);
  return true;
}

Submitter::Followed Submitter::open_chain(
    const Call& call, const HazardTable::Conflicts& conflicts, const Plan& plan,
    Place& place, BatchRef& blocker) {
  if (conflicts.count > abi::kMaxChainWaits) return Followed::No;
  const std::uint64_t head = rings_[kChainRing]->head();
  if (std::ranges::none_of(conflicts.view(), [=](const BatchRef& batch) {
        return batch.begin + kNear >= head;
      }))
    return Followed::No;
  close_chains(conflicts);
  // Before the place is taken: what is closed is published up to the head.
  OpenChains& chains = backend_.chains();
  chains.make_room();
  if (const BatchRef* owner = backend_.chain_blocks().blocker()) {
    blocker = *owner;
    return Followed::Blocked;
  }
  const auto reserved = backend_.reserve(plan.route, 1);
  if (!reserved) {
    blocker = oldest_of(kChainRing);
    return Followed::Blocked;
  }
  place = *reserved;
  abi::Member* block =
      backend_.chain_blocks().take({kChainRing, place.first, nullptr});
  abi::Payload& chain = chains.open(place.first, block);
  add_waits(chain, place.first, conflicts);
  add_member(chain, call);
  count(chains_, 1);
  return Followed::Yes;
}

Submitter::Followed Submitter::follow_in_flush(
    const Call& call, const HazardTable::Conflicts& conflicts, const Plan& plan,
    Place& place, BatchRef& blocker) {
  // One of the batches is the flush; others are waited for as by any task of
  // it.
  HazardTable::Conflicts others;
  const BatchRef* flush = nullptr;
  std::uint64_t position = HazardTable::kNoPosition;
  for (std::size_t i = 0; i < conflicts.count; ++i) {
    if (plan.route.collects(conflicts.batches[i])) {
      flush = &conflicts.batches[i];
      position = conflicts.positions[i];
    } else {
      others.batches[others.count++] = conflicts.batches[i];
    }
  }
  if (position == HazardTable::kNoPosition) return Followed::No;
  Ring& ring = *rings_[plan.route.ring];
  abi::Payload payload = read_payload(ring.descriptor(position));
  const bool is_new = !abi::is_chain(payload.flags);
  if (!is_new) {
    auto* block =
        reinterpret_cast<abi::Member*>(payload.args[abi::kChainBlock]);
    payload.count =
        find_room(plan.route, *flush, block, payload.count, call.arg_count);
    if (payload.count == 0) return Followed::No;
  }
  if (others.count != 0) {
    close_chains(others);
    const Order order = backend_.order(plan.route, others.view());
    if (order.wait_on_host) {
      blocker = *order.wait_on_host;
      return Followed::Blocked;
    }
  }
  if (is_new) {
    if (const BatchRef* owner = backend_.chain_blocks().blocker()) {
      blocker = *owner;
      return Followed::Blocked;
    }
    abi::Payload chain = make_chain(backend_.chain_blocks().take(*flush));
    chain.batch_offset = payload.batch_offset;
    chain.batch_size = payload.batch_size;
    add_member(chain, ring, position, payload);
    payload = chain;
    count(chains_, 1);
  }
  place = {position, flush->begin, 0, add_member(payload, call)};
  ring.write(position, payload);
  ring.add_to_place(flush->begin);
  return Followed::Yes;
}

void Submitter::close_chains(const HazardTable::Conflicts& conflicts) {
  OpenChains& chains = backend_.chains();
  if (chains.is_empty()) return;
  for (const BatchRef& batch : conflicts.view()) {
    if (batch.ring == kChainRing) chains.close(batch.begin);
  }
}

void Submitter::note(const Call& call, const Plan& plan, const Place& place) {
  const BatchRef batch{plan.route.ring, place.batch_begin, plan.route.stream};
  if (plan.is_chained) {
    ChainRows::Row& row = rows_.row_of(batch, place.first);
    for (const Access& access : call.access_view()) {
      if (ChainRows::add(row, access))
        hazards_.add({&access, 1}, batch, HazardTable::kAlone, place.first);
    }
    return;
  }
  // Batches of submit_many() do not wait for each other, its first begins here.
  const std::uint64_t group =
      plan.is_many ? place.batch_begin : HazardTable::kAlone;
  const bool is_one =
      plan.is_single && !call.op->is_traced.load(std::memory_order_relaxed);
  hazards_.add(call.access_view(), batch, group,
               is_one ? place.first : HazardTable::kNoPosition);
}

}  // namespace gpuos
