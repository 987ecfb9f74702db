#include "gpuos/session.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/concat.h"
#include "base/config.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "gpuos/runtime.h"
#include "jit/compile_options.h"
#include "jit/nvrtc_api.h"
#include "session/device.h"
#include "session/launches.h"
#include "session/operators.h"
#include "session/workspace.h"

namespace gpuos {
namespace {

using session::DefinitionPtr;

// Why a session of `runtime` cannot load; empty if it can.
std::string refusal_of(const Runtime* runtime) {
  if (runtime == nullptr || runtime->backend() == "cuda") return "";
  return concat(
      "session: expected a runtime with backend cuda to load "
      "device code, got ",
      runtime->backend());
}

int device_of(const Runtime* runtime, const SessionOptions& options) {
  return runtime == nullptr ? options.device : runtime->options().device;
}

session::CompilerSettings settings_of(const jit::Nvrtc& api,
                                      const SessionOptions& options,
                                      int device) {
  session::CompilerSettings settings;
  settings.options = options.jit;
  settings.include_dirs = options.include_dirs;
  settings.target = jit::choose_target(
      api, cu::try_compute_capability(device).value_or(api.archs.back()),
      options.jit.arch.empty() ? config().nvrtc_arch : options.jit.arch);
  if (settings.target.is_ptx)
    throw BackendUnavailable(concat(
        "session: expected an NVRTC that makes CUBIN for the device, ", "got ",
        api.major, ".", api.minor, ", which makes ", settings.target.arch,
        "; a newer one: pip install -U gpuos[cuda]"));
  return settings;
}

}  // namespace

class Session::Impl {
 public:
  Impl(Runtime* owner, const SessionOptions& options)
      : runtime(owner),
        workspace(jit::nvrtc(), settings_of(jit::nvrtc(), options,
                                            device_of(owner, options))),
        device(device_of(owner, options), refusal_of(owner)),
        launches(workspace, device, bindings) {}

  CellResult run(std::string_view text, std::string_view name);
  DefinitionPtr find_variable(std::string_view name) const;
  cu::DeviceGlobal storage(std::string_view name) {
    return device.storage(find_variable(name), workspace.linker());
  }
  cu::DeviceGlobal storage_of(std::string_view name, std::size_t bytes);

  std::mutex mutex;
  Runtime* const runtime;
  session::Bindings bindings;
  session::Workspace workspace;
  session::Device device;
  session::Launches launches;

 private:
  // Whether one of them is to be waited for.
  bool launch(const std::vector<session::LinkedLaunch>& linked);
  void finish(bool is_kept);
};

CellResult Session::Impl::run(std::string_view text, std::string_view name) {
  session::CellReport report = workspace.run(text, name);
  CellResult result{.cell = report.cell,
                    .defined = std::move(report.defined),
                    .launches = 0,
                    .log = std::move(report.log)};
  bool all_run = false;
  try {
    const auto linked = launches.link(report.statements, report.cell);
    result.launches = linked.size();
    const bool must_wait = launch(linked);
    all_run = true;
    if (must_wait) device.synchronize();
  } catch (const Cancelled&) {
    // What runs is not taken back, only not waited for.
    finish(all_run);
    throw;
  } catch (...) {
    finish(false);
    throw;
  }
  finish(true);
  return result;
}

bool Session::Impl::launch(const std::vector<session::LinkedLaunch>& linked) {
  if (linked.empty()) return false;
  // What is submitted already may work on the arrays that are bound.
  while (runtime != nullptr && !runtime->synchronize(Interrupt::kPeriod))
    Interrupt::check("synchronize");
  bool must_wait = false;
  for (const session::LinkedLaunch& launch : linked)
    must_wait |= launches.run(launch);
  return must_wait;
}

void Session::Impl::finish(bool is_kept) {
  if (is_kept) {
    workspace.accept();
  } else {
    workspace.roll_back();
  }
  device.collect();
}

DefinitionPtr Session::Impl::find_variable(std::string_view name) const {
  if (DefinitionPtr found = workspace.find_variable(name)) return found;
  throw InvalidArgument(
      concat("session: expected the name of a variable, got '", name, "'"));
}

cu::DeviceGlobal Session::Impl::storage_of(std::string_view name,
                                           std::size_t bytes) {
  const cu::DeviceGlobal found = storage(name);
  cu::check_bytes(found, bytes, concat("session: ", name));
  return found;
}

Session::Session(SessionOptions options)
    : impl_(std::make_unique<Impl>(nullptr, options)) {}

Session::Session(Runtime& runtime, SessionOptions options)
    : impl_(std::make_unique<Impl>(&runtime, options)) {}

Session::~Session() = default;

CellResult Session::run(std::string_view text, std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->run(text, name);
}

bool Session::undo() {
  const std::lock_guard lock(impl_->mutex);
  const bool is_undone = impl_->workspace.undo();
  impl_->device.collect();
  return is_undone;
}

void Session::bind(std::string_view name, const KernelArg& value,
                   std::shared_ptr<const void> owner) {
  const std::lock_guard lock(impl_->mutex);
  const std::string key(name);
  impl_->bindings.values.insert_or_assign(key, value);
  impl_->bindings.owners.insert_or_assign(key, std::move(owner));
}

void Session::unbind(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  const std::string key(name);
  if (impl_->bindings.values.erase(key) == 0)
    throw InvalidArgument(
        concat("session: expected a bound name, got '", name, "'"));
  impl_->bindings.owners.erase(key);
}

Kernel Session::kernel(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  session::Linker& linker = impl_->workspace.linker();
  return impl_->device.load(linker.link(impl_->workspace.kernel(name)), linker);
}

std::string Session::link(std::string_view kernel) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->workspace.linker().link(impl_->workspace.kernel(kernel))->image;
}

SessionVariable Session::variable(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  const cu::DeviceGlobal found = impl_->storage(name);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives an integer
  return {reinterpret_cast<void*>(found.address), found.bytes};
}

void Session::read(std::string_view name, void* to, std::size_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  impl_->device.read(impl_->storage_of(name, bytes), to);
}

void Session::write(std::string_view name, const void* from,
                    std::size_t bytes) {
  const std::lock_guard lock(impl_->mutex);
  impl_->device.write(impl_->storage_of(name, bytes), from);
}

OperatorDefinition Session::operator_definition(
    std::string_view function, std::string_view operator_name,
    const std::vector<std::string>& params) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->runtime == nullptr)
    throw InvalidArgument(
        "operator: expected the session of a Runtime, got one without");
  impl_->device.context();
  const DefinitionPtr found = impl_->workspace.function(function);
  return session::define_operator(
      found,
      operator_name.empty() ? found->item.name : std::string(operator_name),
      params, impl_->workspace, impl_->device);
}

Operator Session::make_operator(std::string_view function,
                                std::string_view operator_name,
                                const std::vector<std::string>& params) {
  const OperatorDefinition definition =
      operator_definition(function, operator_name, params);
  Runtime& runtime = *impl_->runtime;
  const std::vector<std::string> known = runtime.operator_names();
  if (std::ranges::find(known, definition.name) == known.end())
    return runtime.define(definition);
  Operator op = runtime.find(definition.name);
  runtime.replace(op, definition);
  return op;
}

std::string Session::export_cubin() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->workspace.linker().link_all();
}

std::vector<std::string> Session::names() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->workspace.names();
}

SessionStats Session::stats() const {
  const std::lock_guard lock(impl_->mutex);
  return {.cells = impl_->workspace.cells(),
          .compiled = impl_->workspace.compiler().compiled(),
          .linked = impl_->workspace.linker().linked(),
          .loaded = impl_->device.loaded()};
}

}  // namespace gpuos
