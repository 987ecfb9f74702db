#include "base/environment.h"

#include <unistd.h>

#include <mutex>
#include <utility>

namespace gpuos {
namespace {

struct Noted {
  std::mutex mutex;
  std::shared_ptr<const Environment> environment;
};

Noted& noted() {
  static Noted* const instance = new Noted;  // outlives every other static
  return *instance;
}

}  // namespace

void note_environment() {
  auto read = std::make_shared<Environment>();
  for (char** variable = environ; *variable != nullptr; ++variable)
    read->emplace_back(*variable);
  const std::lock_guard lock(noted().mutex);
  noted().environment = std::move(read);
}

std::shared_ptr<const Environment> environment() {
  {
    const std::lock_guard lock(noted().mutex);
    if (noted().environment != nullptr) return noted().environment;
  }
  note_environment();
  return environment();
}

std::string_view variable_of(const Environment& environment,
                             std::string_view name) {
  for (const std::string_view variable : environment) {
    if (variable.size() > name.size() && variable[name.size()] == '=' &&
        variable.starts_with(name))
      return variable.substr(name.size() + 1);
  }
  return {};
}

}  // namespace gpuos
