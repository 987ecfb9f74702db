#include "gpuos/jit_module.h"

#include <cstdint>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/compile_pool.h"
#include "jit/given_object.h"
#include "jit/module_compiler.h"
#include "jit/symbols.h"
#include "modules/module_version.h"

namespace gpuos {
namespace {

using cu::ModuleVersion;

std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  if (!file)
    throw InvalidArgument(
        concat("JitModule: expected a file that can be read, got ", path));
  return bytes;
}

}  // namespace

// The newest version of a JitModule, with its handles and variables.
//
// Threads: any.
class JitModule::State {
 public:
  // A variable and the module that contains it.
  struct Variable {
    std::shared_ptr<cu::LoadedModule> module;
    cu::DeviceGlobal global;
  };

  // `source` has no text for an image that was given.
  State(int device, bool is_given, JitSource&& source,
        std::shared_ptr<const jit::ModuleImage> compiled)
      : name_(source.name),
        device_(device),
        now_(1, device, is_given, std::move(source), std::move(compiled)) {}

  const std::string& name() const { return name_; }
  std::uint64_t version() const;
  std::shared_ptr<const jit::ModuleImage> compiled() const;

  Kernel kernel(std::string_view name);
  Variable variable(std::string_view name);
  std::uint64_t replace(JitReplacement replacement, std::stop_token stop);

 private:
  using Types = std::map<std::string, std::string>;

  JitSource source_of(JitReplacement& replacement) const;
  Types types_of(const ModuleVersion& version,
                 std::span<const std::string> names,
                 const std::stop_token& stop) const;
  void check_types(const Types& old, const Types& now) const;
  void check_kernels(ModuleVersion& next) const;
  void copy_variable(const std::string& name, ModuleVersion& next);

  const std::string name_;
  const int device_;
  std::mutex replacing_;  // one replace() at a time; before mutex_
  mutable std::mutex mutex_;
  // Under mutex_, except its const members. Only replace() exchanges it.
  ModuleVersion now_;
  // Under mutex_. The parameters of all requested kernels, also of handles that
  // are gone: each module["k"].launch() makes a new handle.
  std::map<std::string, cu::ParameterList, std::less<>> known_;
  cu::ModuleHandles handles_;  // under mutex_
};

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

JitModule::JitModule(JitSource source, int device, std::stop_token stop) {
  auto compiled = jit::compile_module(
      source, cu::try_compute_capability(device), std::move(stop));
  state_ = std::make_shared<State>(device, false, std::move(source),
                                   std::move(compiled));
}

JitModule JitModule::from_image(std::string image, std::string name,
                                int device) {
  auto given = std::make_shared<const jit::ModuleImage>(
      jit::read_image(std::move(image), name));
  return JitModule(std::make_shared<State>(
      device, true, JitSource{.name = std::move(name)}, std::move(given)));
}

JitModule JitModule::from_file(const std::string& path, int device) {
  return from_image(file_bytes(path), path.substr(path.rfind('/') + 1), device);
}

Kernel JitModule::kernel(std::string_view name) const {
  return state_->kernel(name);
}

void* JitModule::global_address(std::string_view name) const {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives an integer
  return reinterpret_cast<void*>(state_->variable(name).global.address);
}

std::size_t JitModule::global_bytes(std::string_view name) const {
  return state_->variable(name).global.bytes;
}

void JitModule::read(std::string_view name, void* to, std::size_t bytes) const {
  const State::Variable from = state_->variable(name);
  cu::check_bytes(from.global, bytes, concat(state_->name(), ": ", name));
  cu::read_global(from.module->context(), from.global, to);
}

void JitModule::write(std::string_view name, const void* from,
                      std::size_t bytes) const {
  const State::Variable to = state_->variable(name);
  cu::check_bytes(to.global, bytes, concat(state_->name(), ": ", name));
  cu::write_global(to.module->context(), to.global, from);
}

std::uint64_t JitModule::replace(JitReplacement replacement,
                                 std::stop_token stop) {
  return state_->replace(std::move(replacement), std::move(stop));
}

std::uint64_t JitModule::version() const { return state_->version(); }

std::string JitModule::image() const {
  return state_->compiled()->image.binary;
}

std::string JitModule::log() const { return state_->compiled()->image.log; }

std::string JitModule::arch() const { return state_->compiled()->target.arch; }

const std::string& JitModule::name() const { return state_->name(); }

std::future<JitModule> compile_async(JitSource source, int device,
                                     std::stop_token stop) {
  const auto promise = std::make_shared<std::promise<JitModule>>();
  jit::CompilePool::instance().post(
      [promise, source = std::move(source), device, stop = std::move(stop)] {
        try {
          promise->set_value(JitModule(source, device, stop));
        } catch (...) {
          promise->set_exception(std::current_exception());
        }
      });
  return promise->get_future();
}

}  // namespace gpuos
