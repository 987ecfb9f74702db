#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#include "base/config.h"

namespace gpuos {

/// Sets a variable of the environment until the end of the scope.
class ScopedVariable {
 public:
  /// Removes the variable if `value` is null.
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = getenv(name)) old_ = old;
    set(value);
  }
  ~ScopedVariable() { set(old_ ? old_->c_str() : nullptr); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  void set(const char* value) const {
    if (value == nullptr)
      unsetenv(name_);
    else
      setenv(name_, value, 1);
    note_environment();
  }

  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace gpuos
