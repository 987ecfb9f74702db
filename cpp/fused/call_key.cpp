#include "gpuos/call_key.h"

#include "base/word_hash.h"

namespace gpuos {

std::uint64_t CallKey::hash() const noexcept {
  std::uint64_t hash = mix_word(words().size(), function_);
  for (const ArgumentWord& word : words())
    hash = mix_word(hash, static_cast<std::uint64_t>(word.kind) << 16 |
                              static_cast<std::uint64_t>(word.dtype) << 8 |
                              word.rank);
  for (const ForeignObject& object : objects())
    hash = mix_word(hash, object.hash);
  return hash;
}

void CallArguments::set_more_scalars(std::span<const Scalar> more) {
  all_scalars_.clear();
  if (more.empty()) return;
  const auto own = own_scalars();
  all_scalars_.assign(own.begin(), own.end());
  all_scalars_.insert(all_scalars_.end(), more.begin(), more.end());
}

KnownCall::KnownCall(const CallArguments& call, const ForeignObjects* foreign)
    : function(call.key().function()),
      hash(call.key().hash()),
      words(call.key().words().begin(), call.key().words().end()),
      scalars(call.own_scalars().begin(), call.own_scalars().end()) {
  for (const ForeignObject& each : call.key().objects())
    objects.push_back(foreign->hold(each.object));
  for (const TensorView& view : call.inputs())
    shapes.emplace_back(view.shape.begin(), view.shape.begin() + view.dims);
  for (void* number : call.numbers())
    if (number != nullptr) numbers.push_back(foreign->hold(number));
}

Value stand_for(ProgramBuilder& builder, const ArgumentWord& word,
                const Scalar& number) {
  // A bool adapts to every dtype, as an array of bools does.
  const bool is_weak =
      word.kind == ArgumentKind::Number && word.dtype != DType::Bool;
  return is_weak ? builder.number(number) : builder.scalar(word.dtype);
}

}  // namespace gpuos
