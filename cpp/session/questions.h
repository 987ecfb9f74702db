#pragma once

#include <map>
#include <set>
#include <string>

#include "session/items.h"

namespace gpuos::session {

/// Code that has an error for each of the names that is no type.
std::string questions_about(const std::set<std::string>& names);

/// What the compiler's log says of that code; nothing if it did not come to
/// its end.
std::map<std::string, NameKind> answers_in(const std::string& log,
                                           const std::set<std::string>& names);

}  // namespace gpuos::session
