#include "session/host_runner.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <typeinfo>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::session {
namespace {

// Returns "float" of "constexpr const char* gpuos_host::name_of() [with T =
// float]".
std::string text_in(const char* pretty) {
  const std::string_view text = pretty;
  const std::size_t open = text.rfind('[', text.find(" = "));
  const std::size_t begin = text.find(" = ", open) + 3;
  return std::string(text.substr(begin, text.rfind(']') - begin));
}

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      ::abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
      &std::free);
  return without_own_namespaces(status == 0 ? text.get() : type.name());
}

// Returns the text of an exception that is no std::exception.
std::string text_of_current() {
  try {
    throw;
  } catch (const std::string& text) {
    return text;
  } catch (const char* text) {
    return text == nullptr ? "" : text;
  } catch (int value) {
    return std::to_string(value);
  } catch (long value) {
    return std::to_string(value);
  } catch (double value) {
    return std::to_string(value);
  } catch (...) {
    return "";
  }
}

}  // namespace

// Holds the functions through which C code finds the session. After the
// session's end they find null.
struct HostRunner::Table {
  static std::unique_lock<OwnedMutex> lock(HostRunner& self) {
    return std::unique_lock(self.state_);
  }
  static HostRunner& of(void* session) {
    if (session == nullptr)
      throw InvalidArgument(
          "session: expected host code to launch while its session lives");
    return *static_cast<HostRunner*>(session);
  }
  template <typename Work>
  static cudaError_t with_memory(void* session, Work work) {
    if (session == nullptr) return cudaErrorNoDevice;
    auto& self = *static_cast<HostRunner*>(session);
    const auto held = lock(self);
    try {
      self.begin_launching();
      return work(self.memory_);
    } catch (const Cancelled&) {
      throw;
    } catch (const Error&) {
      // An earlier task failed, or the runtime is closed.
      self.memory_.note_error(cudaErrorUnknown);
      return cudaErrorUnknown;
    }
  }

  // Calls a function of the runner.
  template <auto kFunction, typename... Arguments>
  static void run(void* session, Arguments... arguments) {
    HostRunner& self = of(session);
    const auto held = lock(self);
    (self.*kFunction)(arguments...);
  }
  // Calls a function of the runner's memory.
  template <auto kFunction, typename... Arguments>
  static cudaError_t use(void* session, Arguments... arguments) {
    return with_memory(session, [&](HostMemory& memory) {
      return (memory.*kFunction)(arguments...);
    });
  }
  static void reach(void* session, int index) {
    HostRunner& self = of(session);
    if (self.running_) self.running_->index = index;
  }
  static cudaError_t last_error(void* session, bool is_kept) {
    if (session == nullptr) return cudaErrorNoDevice;
    HostRunner& self = of(session);
    const auto held = lock(self);
    return self.memory_.last_error(is_kept);
  }
};

HostRunner::HostRunner(Workspace& workspace, Device& device, Launches& launches,
                       OwnedMutex& state, std::function<void()> settle)
    : workspace_(workspace),
      device_(device),
      launches_(launches),
      state_(state),
      settle_(std::move(settle)),
      memory_(device),
      calls_(new gpuos_host::Calls{
          .session = this,
          .launch = Table::run<&HostRunner::launch>,
          .statement = Table::run<&HostRunner::run_statement>,
          .launches = Table::run<&HostRunner::run_launches>,
          .reach = Table::reach,
          .made = Table::run<&HostRunner::take_made>,
          .variable = Table::run<&HostRunner::read_variable>,
          .allocate = Table::use<&HostMemory::allocate>,
          .release = Table::use<&HostMemory::release>,
          .copy = Table::use<&HostMemory::copy>,
          .fill = Table::use<&HostMemory::fill>,
          .synchronize = Table::use<&HostMemory::synchronize>,
          .last_error = Table::last_error,
          .order = Table::use<&HostMemory::order>,
      }) {}

HostRunner::~HostRunner() {
  // The destructors of the session's variables can still use everything.
  is_over_ = true;
  objects_.end();
  calls_->session = nullptr;
  try {
    memory_.reset();
  } catch (const Error&) {
    memory_.note_error(cudaErrorUnknown);  // a dead runtime keeps its memory
  }
  if (has_cells_) static_cast<void>(calls_.release());
}

void HostRunner::open(HostUnit unit, HostCell cell,
                      std::map<int, std::vector<LinkedLaunch>> launches) {
  launched_ = 0;
  must_wait_ = false;
  const HostLibrary& library = objects_.open(std::move(unit.image), unit.name,
                                             cell.cell, workspace_.journal());
  using Begin = void (*)(const gpuos_host::Calls*);
  const auto begin = reinterpret_cast<Begin>(
      ::dlsym(library.handle, concat(unit.name, "_begin").c_str()));
  if (begin == nullptr)
    throw Error(concat(cell.cell, ": expected the beginning of ", unit.name));
  has_cells_ = true;
  begin(calls_.get());
  workspace_.host().publish(unit, library, objects_, workspace_.journal());
  workspace_.host().refuse_undefined(cell, objects_.missing());
  running_ = Running{.unit = std::move(unit),
                     .cell = std::move(cell),
                     .launches = std::move(launches),
                     .library = &library};
}

void HostRunner::run(std::unique_lock<OwnedMutex>& state,
                     const Around& around) {
  std::exception_ptr error;
  state.unlock();
  const auto work = [&] {
    try {
      host::initialise_host_image(running_->library->handle,
                                  running_->library->image);
    } catch (const InvalidArgument&) {
      error = std::current_exception();
    } catch (const Error&) {
      error = std::current_exception();
    } catch (...) {
      try {
        throw_host_error();
      } catch (...) {
        error = std::current_exception();
      }
    }
    // Without the flush, output that C still buffers would come after later
    // output.
    std::fflush(stdout);
  };
  try {
    if (around) {
      around(work);
    } else {
      work();
    }
  } catch (...) {
    if (!error) error = std::current_exception();
  }
  state.lock();
  workspace_.host().finish(running_->unit);
  running_.reset();
  if (error) std::rethrow_exception(error);
}

void HostRunner::throw_host_error() const {
  const auto index = static_cast<std::size_t>(running_->index);
  const Item& item = running_->cell.items.at(index);
  const std::string where =
      concat(item.file.empty() ? running_->cell.cell : item.file, ":",
             item.line, ": ");
  std::string type;
  std::string text;
  try {
    throw;
  } catch (const std::exception& error) {
    type = type_name(typeid(error));
    text = error.what();
  } catch (...) {
    const std::type_info* const thrown = ::abi::__cxa_current_exception_type();
    type =
        thrown == nullptr ? "an exception of unknown type" : type_name(*thrown);
    text = text_of_current();
  }
  throw HostError(concat(where, type, text.empty() ? "" : ": ", text), type,
                  text);
}

void HostRunner::begin_launching() {
  // Submitted tasks may use these arrays too.
  if (settle_ && !is_over_) settle_();
}

void HostRunner::launch_all(const std::vector<LinkedLaunch>& launches) {
  begin_launching();
  for (const LinkedLaunch& launch : launches) {
    try {
      must_wait_ |= launches_.run(launch);
    } catch (const CudaError& error) {
      memory_.note_error(error.code());
      throw;
    }
    ++launched_;
  }
}

void HostRunner::run_statement(int index) {
  const auto found = running_->launches.find(index);
  if (found != running_->launches.end()) launch_all(found->second);
}

void HostRunner::run_launches(const char* function) {
  Item call;
  call.kind = ItemKind::Call;
  call.name = function;
  const std::string cell = running_ ? running_->cell.cell : "session";
  launch_all(launches_.link({call}, cell));
}

void HostRunner::launch(const gpuos_host::KernelName* kernel,
                        const gpuos_host::CellLaunch* config,
                        const gpuos_host::KernelArgument* arguments,
                        std::size_t count) {
  if (config == nullptr)
    throw InvalidArgument(concat("session: expected ", kernel->name,
                                 "<<<grid, block>>>(...), got a call"));
  std::string name = kernel->name;
  for (std::size_t i = 0; i < kernel->argument_count; ++i)
    name += (i == 0 ? "<" : ", ") +
            without_own_namespaces(text_in(kernel->arguments[i]));
  if (kernel->argument_count > 0) name += '>';
  const DefinitionPtr found = kernel->key == nullptr
                                  ? workspace_.kernel(name)
                                  : workspace_.kernel(name, kernel->key);
  KernelArgs args;
  for (std::size_t i = 0; i < count; ++i)
    args.add_bytes(arguments[i].data, arguments[i].bytes,
                   arguments[i].is_pointer ? "pointer" : "value",
                   arguments[i].is_pointer ? KernelArg::Kind::Pointer
                                           : KernelArg::Kind::Bytes);
  LaunchConfig launch;
  launch.grid = {config->grid.x, config->grid.y, config->grid.z};
  launch.block = {config->block.x, config->block.y, config->block.z};
  launch.shared_bytes = static_cast<std::uint32_t>(config->shared_bytes);
  if (config->stream != nullptr) launch.stream = Stream(config->stream);
  begin_launching();
  try {
    must_wait_ |= launches_.run(found, launch, args);
  } catch (const CudaError& error) {
    memory_.note_error(error.code());
    throw;
  }
  ++launched_;
}

void HostRunner::take_made(const gpuos_host::Made* made) {
  if (!running_) return;
  Running& running = *running_;
  HostVariable variable{.cell = running.cell.cell,
                        .type = text_in(made->type),
                        .address = const_cast<void*>(made->address),
                        .bytes = made->bytes};
  workspace_.host().take_made(running.unit, made->index, std::move(variable),
                              *running.library, objects_, workspace_.journal());
}

void HostRunner::read_variable(const char* name, void* to, std::size_t bytes,
                               bool wants_address) {
  const DefinitionPtr found = workspace_.find_variable(name);
  if (found == nullptr)
    throw InvalidArgument(
        concat("session: expected the name of a variable, got '", name, "'"));
  const cu::DeviceGlobal storage = device_.storage(found, workspace_.linker());
  if (wants_address) {
    std::memcpy(to, &storage.address, sizeof storage.address);
    return;
  }
  cu::check_bytes(storage, bytes, concat("session: ", name));
  device_.read(storage, to);
}

}  // namespace gpuos::session
