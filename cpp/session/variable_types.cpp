#include "session/variable_types.h"

#include "jit/variable_types.h"
#include "session/tokens.h"

namespace gpuos::session {

std::string VariableTypes::find(const Definition& variable) {
  const std::string name = variable.qualified_name();
  const std::string asked = jit::type_question(name);
  // The key has the name too, because two variables may have equal headers.
  const Source source{
      header_.select(identifiers_of(name), nullptr).text + jit::kTypeSpeller,
      variable.cell,
      {asked}};
  const std::string key = asked + source.text;
  if (const auto known = known_.find(key); known != known_.end())
    return known->second;
  const jit::Object object = compiler_.compile({&source, 1}).front();
  if (known_.size() >= kMost) known_.clear();
  std::string type = jit::type_answer(object.symbols, name);
  // A __constant__ variable is const for kernels only.
  constexpr std::string_view kConst = " const";
  const std::size_t at = type.rfind(kConst);
  if (variable.item.is_constant && at != type.npos)
    type.erase(at, kConst.size());
  return known_[key] = type;
}

}  // namespace gpuos::session
