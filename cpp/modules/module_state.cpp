#include "modules/module_state.h"

#include <utility>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/variable_types.h"

namespace gpuos {

using cu::ModuleVersion;

JitModule::State::State(std::string name, int device,
                        std::optional<JitSource> source,
                        std::shared_ptr<const jit::ModuleImage> compiled)
    : name_(std::move(name)),
      device_(device),
      now_(std::make_unique<ModuleVersion>(1, name_, device, std::move(source),
                                           std::move(compiled))) {}

std::uint64_t JitModule::State::version() const {
  const std::lock_guard lock(mutex_);
  return now_->number();
}

std::shared_ptr<const jit::ModuleImage> JitModule::State::compiled() const {
  const std::lock_guard lock(mutex_);
  return now_->compiled();
}

Kernel JitModule::State::kernel(std::string_view name) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const cu::LoadedKernel> kernel = now_->kernel(name);
  known_.try_emplace(std::string(name), kernel->parameters());
  return Kernel(handles_.add(std::move(kernel)));
}

JitModule::State::Variable JitModule::State::variable(std::string_view name) {
  const std::lock_guard lock(mutex_);
  const cu::DeviceGlobal global = now_->global(name);
  return {now_->load(), global};
}

JitSource JitModule::State::source_of(JitReplacement& given) const {
  JitSource source = now_->source().value_or(JitSource{.name = name_});
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
  if (names.empty() || !version.source()) return {};
  return jit::variable_types(*version.source(), names,
                             cu::try_compute_capability(device_), stop);
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
                                     ModuleVersion& next) const {
  const cu::DeviceGlobal from = now_->global(name), to = next.global(name);
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
  const JitSource source = source_of(given);
  auto compiled =
      jit::compile_module(source, cu::try_compute_capability(device_), stop);
  auto next = std::make_unique<ModuleVersion>(
      now_->number() + 1, name_, device_, source, std::move(compiled));
  const Types old_types = types_of(*now_, keep, stop);
  const Types new_types = types_of(*next, keep, stop);
  for (const auto& [name, type] : new_types) {
    const auto found = old_types.find(name);
    if (found != old_types.end() && found->second != type)
      throw InvalidArgument(concat(name_, ": keep: ", name, ": expected ",
                                   found->second, ", got ", type));
  }
  // Taken before what goes, and so given back first.
  std::unique_ptr<ModuleVersion> old;
  const std::lock_guard lock(mutex_);
  if (now_->is_loaded() || !keep.empty()) {
    next->load();
    check_kernels(*next);
    for (const std::string& name : keep) copy_variable(name, *next);
    handles_.replace(
        [&](const std::string& name) { return next->kernel(name); });
  }
  old = std::exchange(now_, std::move(next));
  return now_->number();
}

}  // namespace gpuos
