#include "requests/levels.h"

#include <algorithm>

#include "runtime/runtime_core.h"

namespace gpuos::requests {

void Levels::run(const RequestArrays& arrays, AliasAnalysis& aliases,
                 const Groups& groups) {
  arrays_ = &arrays;
  aliases_ = &aliases;
  groups_ = &groups;
  leveled_.clear();
  ends_.clear();
  groups.for_each([&](const Group& group) {
    const bool is_next = aliases.has_overlaps();
    const std::uint32_t level =
        is_next ? static_cast<std::uint32_t>(leveled_.size()) + 1
                : level_of(group);
    if (!is_next) note(group, level);
    if (level > ends_.size()) ends_.push_back(0);
    ++ends_[level - 1];
    leveled_.push_back({&group, level});
  });
  sort();
}

std::uint32_t Levels::level_of(const Group& group) const {
  std::uint32_t before = 0;
  groups_->for_each_member(group, [&](std::uint32_t request) {
    const Request& asked = arrays_->request(request);
    const RequestOwners& of = aliases_->of(request);
    for (std::size_t i = 0; i < asked.operands; ++i)
      if (!is_number(asked, i))
        aliases_->owners().for_each_part(
            of.operands[i], [&](const Owner& owner) {
              before = std::max(before, owner.written_level);
            });
    before = std::max(before, aliases_->owners()[of.out].touched_level);
  });
  return before + 1;
}

void Levels::note(const Group& group, std::uint32_t level) {
  groups_->for_each_member(group, [&](std::uint32_t request) {
    const Request& asked = arrays_->request(request);
    const RequestOwners& of = aliases_->of(request);
    for (std::size_t i = 0; i < asked.operands; ++i) {
      if (is_number(asked, i)) continue;
      aliases_->owners().for_each_part(of.operands[i], [&](Owner& owner) {
        owner.touched_level = std::max(owner.touched_level, level);
      });
    }
    Owner& out = aliases_->owners()[of.out];
    out.touched_level = level;
    out.written_level = level;
  });
}

// By counting: `ends_` holds how many groups each level has.
void Levels::sort() {
  std::uint32_t begin = 0;
  for (std::uint32_t& end : ends_) {
    const std::uint32_t count = end;
    end = begin;
    begin += count;
  }
  sorted_.resize(leveled_.size());
  for (const LeveledGroup& leveled : leveled_)
    sorted_[ends_[leveled.level - 1]++] = leveled.group;
}

LevelCalls::LevelCalls(Runtime& runtime) : runtime_(runtime), calls_(kMost) {}

void LevelCalls::begin(const Stream& stream) {
  stream_ = stream;
  count_ = 0;
}

void LevelCalls::add(const Program& program, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs,
                     std::span<const Scalar> scalars) {
  // Views of computed values are made by submit().
  if (program.plan()->sources.empty() &&
      RuntimeCore::of(runtime_).programs.write_call(
          program.plan(), inputs, outputs, scalars, stream_, calls_[count_]))
    count();
  else
    runtime_.submit(program, inputs, outputs, scalars, stream_);
}

void LevelCalls::flush() {
  const std::span calls(calls_.data(), count_);
  count_ = 0;
  if (calls.empty()) return;
  Submitter& submitter = RuntimeCore::of(runtime_).submitter;
  if (calls.size() >= kFewest && submitter.submit_independent(calls, stream_))
    return;
  for (Call& call : calls) submitter.submit(call, stream_);
}

}  // namespace gpuos::requests
