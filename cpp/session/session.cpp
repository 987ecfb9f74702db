#include "gpuos/session.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "base/config.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "gpuos/runtime.h"
#include "jit/toolkit/header_packages.h"
#include "jit/toolkit/nvrtc_api.h"
#include "session/device/device.h"
#include "session/device/evaluator.h"
#include "session/followed_kernel.h"
#include "session/host_runner.h"
#include "session/launches.h"
#include "session/owned_mutex.h"
#include "session/workspace.h"

namespace gpuos {
namespace {

using session::DefinitionPtr;

// Returns why a session of `runtime` cannot load, or an empty text if it can.
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
  for (std::string& folder : std::exchange(settings.options.include_dirs, {}))
    settings.include_dirs.push_back(std::move(folder));
  settings.target = jit::choose_target(
      api, cu::try_compute_capability(device).value_or(api.archs.back()),
      options.jit.arch.empty() ? config().nvrtc_arch : options.jit.arch);
  if (settings.target.is_ptx)
    throw BackendUnavailable(concat(
        "session: expected an NVRTC that makes CUBIN for the device, ", "got ",
        api.major, ".", api.minor, ", which makes ", settings.target.arch,
        "; install a newer one with: ", jit::kNewerCompiler));
  return settings;
}

}  // namespace

class Session::Impl {
 public:
  Impl(Runtime* owner, const SessionOptions& options)
      : runtime(owner),
        workspace(jit::nvrtc(),
                  settings_of(jit::nvrtc(), options, device_of(owner, options)),
                  [this](const std::string& name) { return find_bound(name); }),
        device(device_of(owner, options), refusal_of(owner)),
        launches(workspace, device, bindings),
        types(workspace.header(), workspace.compiler()),
        bound_names(bindings),
        host(workspace, device, launches, state, [this] { settle(); }) {}

  CellResult run(std::string_view text, std::string_view name,
                 std::unique_lock<session::OwnedMutex>& held);
  std::shared_ptr<const cu::LoadedKernel> find_kernel(std::string_view name);
  DefinitionPtr find_variable(std::string_view name) const;
  cu::DeviceGlobal storage(std::string_view name) {
    return device.storage(find_variable(name), workspace.linker());
  }
  cu::DeviceGlobal storage_of(std::string_view name, std::size_t bytes);
  const session::HostVariable* host_variable(std::string_view name,
                                             std::size_t bytes) const;

  session::OwnedMutex mutex;  // one cell at a time
  session::OwnedMutex state;  // locked after mutex, not held while host code
                              // runs
  Runtime* const runtime;
  session::Bindings bindings;
  session::Workspace workspace;
  session::Device device;
  session::Launches launches;
  session::VariableTypes types;
  session::BoundNames bound_names;
  session::Around around;
  std::shared_ptr<session::NewestKernels> newest;  // set once
  session::HostRunner host;  // last: its variables may use all of them

 private:
  // Returns whether the caller must wait for one of the launches.
  bool launch(const std::vector<session::LinkedLaunch>& linked);
  // Waits for submitted tasks, which may use the arrays that are bound.
  void settle() const;
  CellResult run_host(session::CellReport& report, CellResult result,
                      std::unique_lock<session::OwnedMutex>& held);
  std::optional<session::BoundName> find_bound(const std::string& name);
  void finish(bool is_kept);
};

/// Takes both locks of a session, as every function does except a cell.
class Session::Held {
 public:
  explicit Held(Impl& impl) : cell_(impl.mutex), state_(impl.state) {}

 private:
  std::lock_guard<session::OwnedMutex> cell_;
  std::lock_guard<session::OwnedMutex> state_;
};

/// Locks for calls that change nothing. They work within a cell of their own
/// thread too.
class Session::Looking {
 public:
  explicit Looking(Impl& impl) : cell_(impl.mutex), state_(impl.state) {}

 private:
  session::LookLock cell_;
  session::LookLock state_;
};

CellResult Session::Impl::run(std::string_view text, std::string_view name,
                              std::unique_lock<session::OwnedMutex>& held) {
  session::CellReport report = workspace.run(text, name);
  CellResult result{.cell = report.cell,
                    .defined = std::move(report.defined),
                    .launches = 0,
                    .log = std::move(report.log)};
  if (report.host_unit) return run_host(report, std::move(result), held);
  bool all_run = false;
  try {
    const auto linked = launches.link(report.statements, report.cell);
    result.launches = linked.size();
    const bool must_wait = launch(linked);
    all_run = true;
    if (must_wait) device.synchronize();
  } catch (const Cancelled&) {
    // The session does not stop running kernels, and it does not wait for them.
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
  settle();
  bool must_wait = false;
  for (const session::LinkedLaunch& launch : linked)
    must_wait |= launches.run(launch);
  return must_wait;
}

void Session::Impl::settle() const {
  while (runtime != nullptr && !runtime->synchronize(Interrupt::kPeriod))
    Interrupt::check("synchronize");
}

// Runs host code. Code that has run is not undone, so definitions stay from
// then on.
CellResult Session::Impl::run_host(
    session::CellReport& report, CellResult result,
    std::unique_lock<session::OwnedMutex>& held) {
  try {
    std::map<int, std::vector<session::LinkedLaunch>> linked;
    for (int i = 0; const session::Item& item : report.host_cell.items) {
      if (item.kind == session::ItemKind::Launch ||
          item.kind == session::ItemKind::Call)
        linked[i] = launches.link({item}, report.cell);
      ++i;
    }
    bound_names.refresh();
    host.open(std::move(*report.host_unit), std::move(report.host_cell),
              std::move(linked));
  } catch (...) {
    finish(false);
    throw;
  }
  try {
    host.run(held, around);
    result.launches = host.launched();
    if (host.must_wait()) device.synchronize();
  } catch (...) {
    finish(true);
    throw;
  }
  finish(true);
  return result;
}

// Returns an array or a number that is bound, or else a variable of the device.
std::optional<session::BoundName> Session::Impl::find_bound(
    const std::string& name) {
  if (auto bound = bound_names.find(name)) return bound;
  if (workspace.find_variable(name) == nullptr) return std::nullopt;
  return session::BoundName{concat("static const ::gpuos_host::Variable ", name,
                                   "{\"", name, "\"};")};
}

void Session::Impl::finish(bool is_kept) {
  if (is_kept) {
    workspace.accept();
    newest->note_change();
  } else {
    workspace.roll_back();
  }
  device.collect();
}

std::shared_ptr<const cu::LoadedKernel> Session::Impl::find_kernel(
    std::string_view name) {
  const Held lock(*this);
  session::Linker& linker = workspace.linker();
  return device.load(linker.link(workspace.kernel(name)), linker);
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

// Returns null for a variable of the device.
const session::HostVariable* Session::Impl::host_variable(
    std::string_view name, std::size_t bytes) const {
  const session::HostVariable* const own = workspace.host().find_variable(name);
  if (own != nullptr && own->bytes != bytes)
    throw InvalidArgument(concat("session: ", name, ": expected ", own->bytes,
                                 " bytes, got ", bytes));
  return own;
}

std::shared_ptr<Session::Impl> Session::make(Runtime* runtime,
                                             const SessionOptions& options) {
  auto made = std::make_shared<Impl>(runtime, options);
  // A finalizer may end the session while its thread looks for a kernel.
  made->newest = std::make_shared<session::NewestKernels>(
      [session = std::weak_ptr(made)](const std::string& name) {
        const std::shared_ptr<Impl> kept = session.lock();
        return kept == nullptr ? nullptr : kept->find_kernel(name);
      });
  return made;
}

Session::Session(SessionOptions options) : impl_(make(nullptr, options)) {}

Session::Session(Runtime& runtime, SessionOptions options)
    : impl_(make(&runtime, options)) {}

// close() waits, because a launch of a followed kernel may be reading the
// session.
Session::~Session() { impl_->newest->close(); }

CellResult Session::run(std::string_view text, std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  std::unique_lock held(impl_->state);
  return impl_->run(text, name, held);
}

CellResult Session::run_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code none;
  if (!file || std::filesystem::is_directory(path, none))
    throw InvalidArgument(
        concat("run_file: expected a file that can be read, got ", path));
  std::string text(std::istreambuf_iterator<char>(file), {});
  const std::lock_guard lock(impl_->mutex);
  std::unique_lock held(impl_->state);
  const std::size_t slash = path.rfind('/');
  impl_->workspace.add_include_dir(
      slash == path.npos ? "." : path.substr(0, slash + 1));
  return impl_->run(text, path, held);
}

void Session::around_host_code(
    std::function<void(const std::function<void()>&)> around) {
  const std::lock_guard lock(impl_->mutex);
  impl_->around = std::move(around);
}

HostVariableInfo Session::host_variable(std::string_view name) const {
  const Looking lock(*impl_);
  const session::HostVariable* found =
      impl_->workspace.host().find_variable(name);
  if (found == nullptr) return {};
  return {found->address, found->bytes,
          session::without_own_namespaces(found->type)};
}

std::string Session::variable_type(std::string_view name) {
  const Held lock(*impl_);
  if (const auto* own = impl_->workspace.host().find_variable(name))
    return session::without_own_namespaces(own->type);
  const session::DefinitionPtr found = impl_->workspace.find_variable(name);
  return found == nullptr ? "" : impl_->types.find(*found);
}

bool Session::undo() {
  const Held lock(*impl_);
  const bool is_undone = impl_->workspace.undo();
  impl_->newest->note_change();
  impl_->device.collect();
  return is_undone;
}

void Session::bind(std::string_view name, const KernelArg& value,
                   std::shared_ptr<const void> owner) {
  const Held lock(*impl_);
  const std::string key(name);
  impl_->bindings.values.insert_or_assign(key, value);
  impl_->bindings.owners.insert_or_assign(key, std::move(owner));
}

void Session::unbind(std::string_view name) {
  const Held lock(*impl_);
  const std::string key(name);
  if (impl_->bindings.values.erase(key) == 0)
    throw InvalidArgument(
        concat("session: expected a bound name, got '", name, "'"));
  impl_->bindings.owners.erase(key);
}

Kernel Session::kernel(std::string_view name) {
  return Kernel(impl_->find_kernel(name));
}

Kernel Session::follow(std::string_view name) {
  return Kernel(std::make_shared<const session::FollowedKernel>(
      std::string(name), impl_->newest));
}

std::string Session::link(std::string_view kernel) {
  const Held lock(*impl_);
  return impl_->workspace.linker().link(impl_->workspace.kernel(kernel))->image;
}

SessionVariable Session::variable(std::string_view name) {
  const Held lock(*impl_);
  if (const auto* own = impl_->workspace.host().find_variable(name))
    return {own->address, own->bytes};
  const cu::DeviceGlobal found = impl_->storage(name);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the driver gives an integer
  return {reinterpret_cast<void*>(found.address), found.bytes};
}

void Session::read(std::string_view name, void* to, std::size_t bytes) {
  const Held lock(*impl_);
  if (const auto* own = impl_->host_variable(name, bytes)) {
    std::memcpy(to, own->address, bytes);
    return;
  }
  impl_->device.read(impl_->storage_of(name, bytes), to);
}

void Session::write(std::string_view name, const void* from,
                    std::size_t bytes) {
  const Held lock(*impl_);
  if (const auto* own = impl_->host_variable(name, bytes)) {
    std::memcpy(own->address, from, bytes);
    return;
  }
  impl_->device.write(impl_->storage_of(name, bytes), from);
}

OperatorDefinition Session::operator_definition(
    std::string_view function, std::string_view operator_name,
    const std::vector<std::string>& params) {
  const Held lock(*impl_);
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
  const Held lock(*impl_);
  return impl_->workspace.linker().link_all();
}

std::vector<std::string> Session::names() const {
  const Looking lock(*impl_);
  return impl_->workspace.names();
}

SessionStats Session::stats() const {
  const Looking lock(*impl_);
  return {.cells = impl_->workspace.cells(),
          .compiled = impl_->workspace.compiler().compiled() +
                      impl_->workspace.host().compiled(),
          .linked = impl_->workspace.linker().linked(),
          .loaded = impl_->device.loaded()};
}

}  // namespace gpuos
