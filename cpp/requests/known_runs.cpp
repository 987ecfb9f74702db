#include "requests/known_runs.h"

#include <algorithm>
#include <utility>

#include "base/word_hash.h"

namespace gpuos::requests {

std::size_t KnownRuns::Hash::operator()(const Words& words) const noexcept {
  return hash_of(words);
}

const KnownRun* KnownRuns::find(const RequestArrays& arrays,
                                AliasAnalysis& aliases,
                                const StillNeeded& needed) {
  is_wanted_ = false;
  // A caller with `note` remembers tasks itself.
  if (needed.note != nullptr) return nullptr;
  if (unknown_ >= kMostUnknown && unknown_ % kMostUnknown != 0) {
    ++unknown_;
    return nullptr;
  }
  if (!describe(arrays, aliases, needed)) return nullptr;
  const auto bits_of = [&](const RequestPlace& number) {
    return arrays.request(number.request).values[number.place];
  };
  const auto found = runs_.find(words_);
  const bool is_known =
      found != runs_.end() &&
      std::ranges::all_of(found->second.equal, [&](const auto& pair) {
        return bits_of(pair.first) == bits_of(pair.second);
      });
  is_wanted_ = !is_known;
  unknown_ = is_known ? 0 : unknown_ + 1;
  return is_known ? &found->second : nullptr;
}

void KnownRuns::keep(KnownRun&& run) {
  constexpr std::size_t kWordsOfArray = sizeof(KnownTask::Array) / 8;
  std::size_t words = words_.size();
  for (const KnownTask& task : run.tasks)
    words += kWordsOfArray * (task.inputs.size() + task.outputs.size());
  if (kept_words_ + words > kMostWords) {
    runs_.clear();
    kept_words_ = 0;
  }
  kept_words_ += words;
  runs_.insert_or_assign(words_, std::move(run));
}

bool KnownRuns::describe(const RequestArrays& arrays, AliasAnalysis& aliases,
                         const StillNeeded& needed) {
  words_.clear();
  OwnerTable& owners = aliases.owners();
  std::uint32_t index = 0;
  for (const Request& request : arrays.requests()) {
    if (is_whole(request)) return false;
    const RequestOwners& of = aliases.of(index++);
    words_.push_back(reinterpret_cast<std::uintptr_t>(request.function));
    words_.push_back(request.operands | std::uint64_t{request.numbers} << 8 |
                     std::uint64_t{request.integers} << 16 |
                     std::uint64_t{request.axes} << 24 |
                     static_cast<std::uint64_t>(request.compute) << 32 |
                     std::uint64_t{request.keepdims} << 40 |
                     std::uint64_t{request.is_fresh} << 41 |
                     std::uint64_t{request.out == nullptr} << 42 |
                     std::uint64_t{request.views == Request::kFlat} << 43);
    words_.push_back(request.elems);
    add_array(owners[of.out], of.out, request.out_dtype,
              reinterpret_cast<std::uint64_t>(request.out));
    std::uint32_t view = request.views;
    if (view != Request::kFlat) add_view(arrays.view(view++));
    for (std::size_t i = 0; i < request.operands; ++i) {
      if (is_number(request, i)) continue;
      add_array(owners[of.operands[i]], of.operands[i], request.dtypes[i],
                request.values[i]);
      if (view != Request::kFlat) add_view(arrays.view(view++));
    }
  }
  if (needed.ask == nullptr) return true;
  for (Owner& owner : owners.all()) {
    if (!owner.is_fresh) continue;
    owner.is_needed = needed.ask(needed.context, owner.key, owner.uses);
    words_.push_back(static_cast<std::uint64_t>(owner.is_needed));
  }
  return true;
}

void KnownRuns::add_array(const Owner& owner, std::uint32_t index, DType dtype,
                          std::uint64_t address) {
  words_.push_back(index | static_cast<std::uint64_t>(dtype) << 32 |
                   std::uint64_t{owner.has_others} << 40);
  if (owner.has_others) words_.push_back(address - owner.address);
}

void KnownRuns::add_view(const TensorView& view) {
  words_.push_back(view.dims | std::uint64_t{view.has_strides} << 8);
  for (std::size_t d = 0; d < view.dims; ++d) {
    words_.push_back(static_cast<std::uint64_t>(view.shape[d]));
    if (view.has_strides)
      words_.push_back(static_cast<std::uint64_t>(view.strides[d]));
  }
}

}  // namespace gpuos::requests
