#include "requests/program_cache.h"

#include <algorithm>

#include "gpuos/error.h"

namespace gpuos::requests {
namespace {

std::uint64_t hash_of(std::span<const std::uint64_t> words) noexcept {
  std::uint64_t hash = words.size();
  for (const std::uint64_t word : words) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

}  // namespace

bool ProgramCache::Equal::operator()(const View& a,
                                     const Key& b) const noexcept {
  return std::ranges::equal(a.words, b.words);
}

Program& ProgramCache::find(FusedRequests& fused) {
  const auto words = fused.structure();
  // Parts of one level are often alike.
  if (last_ != nullptr && std::ranges::equal(words, last_->first.words))
    return last_->second;
  const View view{words, hash_of(words)};
  auto at = programs_.find(view);
  if (at == programs_.end()) {
    Key key{{words.begin(), words.end()}, view.hash};
    Program program = build(fused);
    if (programs_.size() == kMaxPrograms) programs_.clear();
    at = programs_.emplace(std::move(key), std::move(program)).first;
  }
  last_ = &*at;
  return at->second;
}

Program ProgramCache::build(const FusedRequests& fused) {
  try {
    Program program = fused.build();
    ++built_;
    return program;
  } catch (const InvalidArgument&) {
    // A single request reports its own error.
    if (fused.steps().size() == 1) throw;
    return {};
  }
}

}  // namespace gpuos::requests
