#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "program/calls/prepared.h"
#include "program/calls/text_memory.h"
#include "queue/backend.h"

namespace gpuos::program {

/// The codes of all passes that programs of one runtime have, each once.
///
/// Threads: one at a time.
class PassCodes {
 public:
  /// `free_later` frees memory after the tasks that use it.
  PassCodes(Backend& backend, std::function<void(void*)> free_later)
      : texts_(backend, backend.traits().shared_words, std::move(free_later)) {}

  /// The code of a pass, which is new to an interpreter if no pass of its
  /// structure was there before. `is_ordered`: as in source_of().
  PassCode* code_for(const Pass& pass, bool is_ordered);

  /// Returns whether take_unused() should be called. There are twice as many
  /// codes as at its last call, or `compiled` passes could soon fill the
  /// operator table.
  bool are_many(std::uint64_t compiled) const noexcept {
    return codes_.size() >= forget_at_ || compiled >= forget_at_compiled_;
  }
  /// Removes codes that are not in `used` and were not requested since the last
  /// call, except those that wait for their compiler.
  std::vector<std::unique_ptr<PassCode>> take_unused(
      const std::unordered_set<const PassCode*>& used, std::uint64_t compiled);

  /// Returns whether a pass should read its text from a copy. The first call
  /// reads it where the host wrote it, because a copy takes longer than that.
  static bool wants_copy(const Text& text, bool is_read_again) noexcept {
    return text.shared_bytes != 0 && (is_read_again || text.is_used);
  }
  Text copy_of(const Text& text) { return texts_.copy_of(text); }

 private:
  // Compiled ones must leave room in the operator table.
  static constexpr std::size_t kLeast = abi::kSlots / 4;

  TextMemory texts_;
  std::map<std::string, std::unique_ptr<PassCode>, std::less<>> codes_;
  std::size_t forget_at_ = kLeast;
  std::uint64_t forget_at_compiled_ = kLeast;
  std::uint64_t turn_ = 0;  // of take_unused()
};

}  // namespace gpuos::program
