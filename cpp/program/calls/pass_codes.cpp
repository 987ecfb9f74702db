#include "program/calls/pass_codes.h"

#include <algorithm>
#include <bit>

#include "base/concat.h"
#include "queue/operator_record.h"

namespace gpuos::program {

PassCode* PassCodes::code_for(const Pass& pass, bool is_ordered) {
  const std::string key =
      is_ordered ? concat("ordered ", pass.structure) : pass.structure;
  const auto at = codes_.find(key);
  if (at != codes_.end()) {
    at->second->turn = turn_;
    return at->second.get();
  }
  auto code = std::make_unique<PassCode>();
  code->cells = std::bit_cast<TextHeader>(pass.text[0]).cells;
  code->text = texts_.add(pass.text);
  code->tier = std::make_shared<Tier>();
  code->tier->pass = pass;
  code->tier->is_ordered = is_ordered;
  code->tier->record = std::make_shared<OperatorRecord>();
  code->tier->record->name = "program";
  code->tier->record->slots[0] = kInterpreterSlot;
  code->turn = turn_;
  return codes_.emplace(key, std::move(code)).first->second.get();
}

std::vector<std::unique_ptr<PassCode>> PassCodes::take_unused(
    const std::unordered_set<const PassCode*>& used, std::uint64_t compiled) {
  std::vector<std::unique_ptr<PassCode>> unused;
  for (auto at = codes_.begin(); at != codes_.end();) {
    const PassCode& code = *at->second;
    const bool waits = code.tier->state.load() == Tier::State::Waiting;
    if (code.turn != turn_ && !waits && !code.may_be_captured &&
        !used.contains(&code)) {
      unused.push_back(std::move(at->second));
      at = codes_.erase(at);
    } else {
      ++at;
    }
  }
  ++turn_;
  forget_at_ = std::max(kLeast, 2 * codes_.size());
  forget_at_compiled_ = compiled + kLeast;
  return unused;
}

}  // namespace gpuos::program
