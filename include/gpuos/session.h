#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/export.h"
#include "gpuos/jit_module.h"
#include "gpuos/jit_options.h"
#include "gpuos/kernel_args.h"
#include "gpuos/operator.h"

namespace gpuos {

class Runtime;

/// Decides how a session compiles.
struct SessionOptions {
  /// CUDA device ordinal. A session of a Runtime is on its device.
  int device = 0;
  JitOptions jit{};
  /// Folders in which #include searches after the embedded headers.
  std::vector<std::string> include_dirs{};
};

/// Describes the results of one cell.
struct CellResult {
  std::string cell;                  // "cell 3", or the name that it was given
  std::vector<std::string> defined;  // "kernel foo", in the order of the cell
  std::size_t launches = 0;
  std::string log;  // the compiler's log
};

struct SessionStats {
  std::size_t cells = 0;
  std::uint64_t compiled = 0;  // units
  std::uint64_t linked = 0;    // images
  std::uint64_t loaded = 0;    // images
};

/// Describes a variable of host code.
struct HostVariableInfo {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::string type;  // as C++ spells it: "int [3]"
};

/// Describes the storage of a session's variable.
struct SessionVariable {
  void* data = nullptr;  // on the device, or in host memory
  std::size_t bytes = 0;
};

/// Runs a CUDA C++ program that grows cell by cell. Later cells use the
/// definitions of earlier ones. A redefinition replaces the old version for
/// everything that is linked later. Compiling and linking need no GPU. See
/// docs/sessions.md.
///
/// Threads: any; one cell at a time.
/// Lifetime: its kernels and operators may outlive it.
class GPUOS_API Session {
 public:
  /// Throws: InvalidArgument, BackendUnavailable without NVRTC.
  explicit Session(SessionOptions options = {});
  /// Makes operators for `runtime`, which must outlive the session.
  explicit Session(Runtime& runtime, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Adds the definitions of a cell, runs its launches, and waits for those
  /// without a named stream. On an error no definition is kept. `name` is for
  /// messages. An empty name means "cell <number>".
  /// Throws: CompileError, InvalidArgument, BackendUnavailable, CudaError.
  ///
  /// Host code of a cell runs on this thread. If it throws, its definitions
  /// stay. Throws for it: HostError.
  CellResult run(std::string_view text, std::string_view name = {});
  /// Runs a file as one cell of its name. It may include files of its folder.
  /// Throws: as run(); InvalidArgument if the file cannot be read.
  CellResult run_file(const std::string& path);
  /// Called with the host code instead of running it directly, to capture its
  /// output.
  void around_host_code(
      std::function<void(const std::function<void()>&)> around);
  /// Reverts the definitions of the last cell, up to 64 cells. Returns false if
  /// there is none. Memory that launches have written stays.
  bool undo();

  /// Gives launches a name for a value. A second value replaces the first.
  /// `owner` is kept as long as the name is bound.
  template <typename T>
    requires(!std::same_as<T, KernelArg>)
  void bind(std::string_view name, const T& value,
            std::shared_ptr<const void> owner = nullptr) {
    bind(name, KernelArgs::of(value).values().front(), std::move(owner));
  }
  void bind(std::string_view name, const KernelArg& value,
            std::shared_ptr<const void> owner = nullptr);
  /// Throws: InvalidArgument if it is not bound.
  void unbind(std::string_view name);

  /// Links and loads the newest version of "k", "a::k", the overload "k(int)"
  /// or the template "k<float>". The handle keeps that version. Throws:
  /// InvalidArgument, CompileError, BackendUnavailable, CudaError.
  Kernel kernel(std::string_view name);
  Kernel operator[](std::string_view name) { return kernel(name); }
  /// Returns a kernel that is the newest version of the name at each launch,
  /// also after undo(). It is linked and loaded at its first launch. Graphs
  /// keep their captured version. A launch waits for a running cell if a cell
  /// has ended since the last one. After the session's end the kernel stays at
  /// its last version. Throws, also from the launch: as kernel();
  /// InvalidArgument if the newest takes other parameters than the first.
  Kernel follow(std::string_view name);
  /// Returns the image that kernel() would load, except for the addresses of
  /// variables.
  std::string link(std::string_view kernel);

  /// Returns a variable of host code. Its data is null if there is none of that
  /// name.
  HostVariableInfo host_variable(std::string_view name) const;

  /// Returns the type of a variable as C++ spells it, "int [3]", or an empty
  /// text if there is none of that name. A variable of the device costs a small
  /// compilation, once.
  /// Throws: CompileError.
  std::string variable_type(std::string_view name);

  /// Returns the storage of a variable of the device or of host code. Loads it
  /// if needed. Throws: InvalidArgument, BackendUnavailable, CudaError.
  SessionVariable variable(std::string_view name);
  /// Copies the whole variable, after the kernels that run now.
  /// Throws: InvalidArgument if `bytes` is not its size.
  void read(std::string_view name, void* to, std::size_t bytes);
  void write(std::string_view name, const void* from, std::size_t bytes);

  /// Returns the definition of an elementwise operator that calls the
  /// __device__ function `function`, for Runtime::define() and replace(). Its
  /// parameters are the inputs, except those in `params`, which are scalars.
  /// Throws: InvalidArgument, CompileError, BackendUnavailable.
  OperatorDefinition operator_definition(
      std::string_view function, std::string_view operator_name = {},
      const std::vector<std::string>& params = {});
  /// Defines such an operator, or replaces the one of that name.
  Operator make_operator(std::string_view function,
                         std::string_view operator_name = {},
                         const std::vector<std::string>& params = {});

  /// Returns everything as one CUBIN in which each variable has its storage.
  /// Throws: CompileError if something is defined nowhere.
  std::string export_cubin();

  /// Returns the sorted names of functions, kernels and variables.
  std::vector<std::string> names() const;
  SessionStats stats() const;

 private:
  class GPUOS_PRIVATE Impl;
  class GPUOS_PRIVATE Held;
  class GPUOS_PRIVATE Looking;

  static std::shared_ptr<Impl> make(Runtime* runtime,
                                    const SessionOptions& options);

  std::shared_ptr<Impl> impl_;
};

}  // namespace gpuos
