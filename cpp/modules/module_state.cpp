#include "modules/module_state.h"

#include <utility>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/variable_types.h"

namespace gpuos {

using cu::ModuleVersion;

std::uint64_t JitModule::State::version() const {
  const std::lock_guard lock(mutex_);
  return now_.number();
}

std::shared_ptr<const jit::ModuleImage> JitModule::State::compiled() const {
  const std::lock_guard lock(mutex_);
  return now_.compiled();
}

Kernel JitModule::State::kernel(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const cu::LoadedKernel> kernel = now_.kernel(name);
  known_.try_emplace(std::string(name), kernel->parameters());
  return Kernel(handles_.add(std::move(kernel)));
}

JitModule::State::Variable JitModule::State::variable(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const cu::DeviceGlobal global = now_.global(name);
  return {now_.load(), global};
}

JitSource JitModule::State::source_of(JitReplacement& given) const {
  JitSource source = now_.source();
  source.source = std::move(given.source);
  if (given.name_expressions)
    source.name_expressions = std::move(*given.name_expressions);
  if (given.headers) source.headers = std::move(*given.headers);
  if (given.include_dirs) source.include_dirs = std::move(*given.include_dirs);
  if (given.options) source.options = std::move(*given.options);
  return source;
}

JitModule::State::Types JitModule::State::types_of(
    const ModuleVersion& version, std::span<const std::string> names,
    const std::stop_token& stop) const {
  if (names.empty() || version.is_given()) return {};
  return jit::variable_types(version.source(), names,
                             cu::try_compute_capability(device_), stop);
}

void JitModule::State::check_types(const Types& old, const Types& now) const {
  for (const auto& [name, type] : now) {
    const auto found = old.find(name);
    if (found != old.end() && found->second != type)
      throw InvalidArgument(concat(name_, ": keep: ", name, ": expected ",
                                   found->second, ", got ", type));
  }
}

void JitModule::State::check_kernels(ModuleVersion& next) const {
  for (const auto& [name, parameters] : known_) {
    std::string got;
    try {
      const auto kernel = next.kernel(name);
      if (cu::take_the_same(parameters, kernel->parameters())) continue;
      got = concat(name, cu::text_of(kernel->parameters()));
    } catch (const InvalidArgument& error) {
      got = concat("none: ", error.what());
    }
    throw InvalidArgument(concat(name_, ": replace: expected ", name,
                                 cu::text_of(parameters),
                                 ", which is in use, got ", got));
  }
}

void JitModule::State::copy_variable(const std::string& name,
                                     ModuleVersion& next) {
  const cu::DeviceGlobal from = now_.global(name), to = next.global(name);
  cu::check_bytes(from, to.bytes, concat(name_, ": keep: ", name));
  std::vector<char> bytes(from.bytes);
  const cu::Context& context = next.load()->context();
  cu::read_global(context, from, bytes.data());
  cu::write_global(context, to, bytes.data());
}

std::uint64_t JitModule::State::replace(JitReplacement given,
                                        std::stop_token stop) {
  const std::lock_guard one(replacing_);
  const std::vector<std::string> keep = std::move(given.keep);
  JitSource source = source_of(given);
  auto compiled =
      jit::compile_module(source, cu::try_compute_capability(device_), stop);
  // `next` later holds the old version, which is released after the lock.
  ModuleVersion next(now_.number() + 1, device_, false, std::move(source),
                     std::move(compiled));
  check_types(types_of(now_, keep, stop), types_of(next, keep, stop));
  const std::lock_guard lock(mutex_);
  if (now_.is_loaded() || !keep.empty()) {
    next.load();
    check_kernels(next);
    for (const std::string& name : keep) copy_variable(name, next);
    handles_.replace(
        [&](const std::string& name) { return next.kernel(name); });
  }
  std::swap(now_, next);
  return now_.number();
}

}  // namespace gpuos
