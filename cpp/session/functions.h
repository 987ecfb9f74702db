#pragma once

#include <string>
#include <vector>

#include "session/items.h"
#include "session/pieces.h"

namespace gpuos::session {

/// A function's name with its qualifiers, or "operator +".
struct FunctionName {
  std::string text;
  std::size_t begin = 0;  // index of its first token
  bool is_qualified = false;
  bool is_operator = false;
};
FunctionName function_name(const TokenList& tokens, const Shape& shape);

/// Returns the parameters that differ between overloads: "(int,const float*)".
std::string parameter_key(const TokenList& tokens, std::size_t open);

/// The types of the parameters: {"int", "const float *"}.
std::vector<std::string> parameter_types(const TokenList& tokens,
                                         std::size_t open);

/// Their names, "" where there is none.
std::vector<std::string> parameter_names(const TokenList& tokens,
                                         std::size_t open);

/// The token that is a parameter's name, or before which one would stand.
struct ParameterPlace {
  std::size_t at = 0;
  bool is_named = false;
};
std::vector<ParameterPlace> parameter_places(const TokenList& tokens,
                                             std::size_t open);

/// Whether a parameter has a default argument.
bool has_default_argument(const TokenList& tokens, std::size_t open);

/// Throws: CompileError for a local variable of which every linked kernel
/// would have its own.
void refuse_static_locals(const TokenList& tokens, std::size_t body);

}  // namespace gpuos::session
