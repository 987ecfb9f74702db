#pragma once

#include <string>
#include <vector>

#include "session/cells/items.h"
#include "session/cells/pieces.h"

namespace gpuos::session {

/// Holds a function's name with its qualifiers, or "operator +".
struct FunctionName {
  std::string text;
  std::size_t begin = 0;  // index of its first token
  bool is_qualified = false;
  bool is_operator = false;
};
FunctionName function_name(const TokenList& tokens, const Shape& shape);

/// Returns the parameters that differ between overloads: "(int,const float*)".
std::string parameter_key(const TokenList& tokens, std::size_t open);

/// Returns the types of the parameters: {"int", "const float *"}.
std::vector<std::string> parameter_types(const TokenList& tokens,
                                         std::size_t open);

/// Returns the names of the parameters, "" for one without a name.
std::vector<std::string> parameter_names(const TokenList& tokens,
                                         std::size_t open);

/// Holds the token that is a parameter's name, or the token that a name would
/// precede.
struct ParameterPlace {
  std::size_t at = 0;
  bool is_named = false;
};
std::vector<ParameterPlace> parameter_places(const TokenList& tokens,
                                             std::size_t open);

/// Returns whether a parameter has a default argument.
bool has_default_argument(const TokenList& tokens, std::size_t open);

/// Throws: CompileError for a static local variable, because every linked
/// kernel would have a separate copy.
void refuse_static_locals(const TokenList& tokens, std::size_t body);

}  // namespace gpuos::session
