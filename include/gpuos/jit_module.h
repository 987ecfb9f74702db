#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/export.h"
#include "gpuos/jit_options.h"
#include "gpuos/kernel_args.h"
#include "gpuos/stream.h"

namespace gpuos {

/// Counts the blocks of a grid, or the threads of a block.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  Dim3() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as CUDA's dim3
  Dim3(std::uint32_t sx, std::uint32_t sy = 1, std::uint32_t sz = 1)
      : x(sx), y(sy), z(sz) {}
};

/// Describes a launch of a kernel.
struct LaunchConfig {
  Dim3 grid{};
  Dim3 block{};
  /// Dynamic shared memory of a block. The driver must allow more than 48 KiB.
  std::uint32_t shared_bytes = 0;
  /// An empty stream is the legacy default stream, as in CUDA C++.
  Stream stream{};
  /// If true, all blocks run at once and can synchronise. The grid must fit.
  bool cooperative = false;
  /// Blocks of a cluster. {0, 0, 0} means the kernel's own.
  Dim3 cluster{0, 0, 0};
};

/// Describes the resources that a kernel needs.
struct KernelAttributes {
  int registers = 0;                 // per thread
  int shared_bytes = 0;              // static, per block
  int local_bytes = 0;               // per thread
  int constant_bytes = 0;            // of the user's __constant__ data
  int max_threads = 0;               // of a block
  int max_dynamic_shared_bytes = 0;  // most of a launch
};

/// Names a block size and the grid that fills the device with it.
struct Occupancy {
  int min_grid = 0;
  int block = 0;
};

namespace cu {
class KernelHandle;
}  // namespace cu

/// Is a cheap handle of a kernel that keeps its module loaded. After
/// JitModule::replace() it launches the new code. Session::kernel() documents
/// the version of a session's kernel.
///
/// Threads: any.
class GPUOS_API Kernel {
 public:
  Kernel() = default;
  explicit Kernel(std::shared_ptr<const cu::KernelHandle> handle)
      : handle_(std::move(handle)) {}

  /// Returns the requested name: "k<float>".
  const std::string& name() const;
  KernelAttributes attributes() const;
  /// Returns the bytes of each parameter in order. It is empty if the driver is
  /// too old for this.
  std::vector<std::size_t> parameter_bytes() const;

  /// Throws: InvalidArgument if `args` do not match the kernel's parameters, or
  /// the launch is larger than the device allows; CudaError.
  void launch(Dim3 grid, Dim3 block, const KernelArgs& args,
              std::uint32_t shared_bytes = 0, Stream stream = {}) const;
  void launch(const LaunchConfig& config, const KernelArgs& args) const;

  /// Returns the number of blocks that fit one multiprocessor at a time.
  int max_active_blocks(int block, std::size_t shared_bytes = 0) const;
  /// Returns the block size that keeps most threads on the device.
  Occupancy suggest_block(std::size_t shared_bytes = 0) const;

 private:
  std::shared_ptr<const cu::KernelHandle> handle_;
};

/// Contains the source of a JitModule, and how to compile it.
struct JitSource {
  std::string source{};
  /// Templates to instantiate and names to look up later: "k<float>". Names of
  /// extern "C" functions and variables need none.
  std::vector<std::string> name_expressions{};
  /// #include searches these before any file.
  std::vector<JitHeader> headers{};
  std::vector<std::string> include_dirs{};
  JitOptions options{};
  /// The name in messages and profilers.
  std::string name = "module.cu";
};

/// Contains the source that JitModule::replace() compiles. An empty field keeps
/// the previous value.
struct JitReplacement {
  std::string source{};
  /// __device__ and __constant__ variables that keep their bytes.
  std::vector<std::string> keep{};
  std::optional<std::vector<std::string>> name_expressions{};
  std::optional<std::vector<JitHeader>> headers{};
  std::optional<std::vector<std::string>> include_dirs{};
  std::optional<JitOptions> options{};
};

/// Compiles CUDA C++ at run time, or loads an image. The source can include the
/// embedded `gpuos/` headers. It is compiled once in a process and stored in
/// the disk cache. It is loaded at the first use of a kernel or a variable, so
/// compiling needs no GPU.
///
/// Threads: any.
/// Lifetime: the image stays loaded while the module or a Kernel of it lives,
/// until the launches that are known have ended, and without a limit once
/// one of them was captured into a graph.
class GPUOS_API JitModule {
 public:
  /// Throws: InvalidArgument, CompileError, BackendUnavailable without NVRTC;
  /// Cancelled soon after `stop`.
  explicit JitModule(JitSource source, int device = 0,
                     std::stop_token stop = {});
  /// Compiles a source without any options.
  explicit JitModule(std::string source)
      : JitModule(JitSource{.source = std::move(source)}) {}

  /// Makes a module of an image: a CUBIN, or PTX, which the driver compiles
  /// when it is loaded. `name` is for messages and profilers. Throws:
  /// InvalidArgument if it is neither.
  static JitModule from_image(std::string image,
                              std::string name = "module.cubin",
                              int device = 0);
  /// Makes a module of the image in a file.
  /// Throws: InvalidArgument, also if the file cannot be read.
  static JitModule from_file(const std::string& path, int device = 0);

  /// Returns the kernel of a name expression or an extern "C" name.
  /// Throws: InvalidArgument if the module does not have the name,
  /// BackendUnavailable without a GPU, CudaError.
  Kernel kernel(std::string_view name) const;
  Kernel operator[](std::string_view name) const { return kernel(name); }

  /// Returns the address of a __device__ or __constant__ variable.
  /// Throws: like kernel().
  void* global_address(std::string_view name) const;
  std::size_t global_bytes(std::string_view name) const;
  /// Copies the whole variable, after the kernels that run now.
  /// Throws: like kernel(); InvalidArgument if `bytes` is not its size.
  void read(std::string_view name, void* to, std::size_t bytes) const;
  void write(std::string_view name, const void* from, std::size_t bytes) const;

  /// Compiles another source under the same handles. Returns its version
  /// number. Later launches by any Kernel of the module run the new code,
  /// earlier ones the old code. Variables get the new source's initial values,
  /// except those of `keep`. These are copied after the kernels that run now in
  /// the legacy default stream. Addresses of old variables are no longer valid.
  ///
  /// On an exception everything is unchanged. Every kernel that was requested
  /// before must exist and take the same parameters. Other kernels may change
  /// or disappear.
  /// Throws: as the constructor and kernel(); InvalidArgument for other
  /// parameters, and for a variable of `keep` that is missing or has another
  /// type or size. Without a GPU, if `keep` is not empty: BackendUnavailable.
  std::uint64_t replace(JitReplacement replacement, std::stop_token stop = {});
  /// Returns 1 at first, and one more after each replace().
  std::uint64_t version() const;

  /// Returns the image of the newest version: a CUBIN, or PTX if the device is
  /// newer than NVRTC. A module made from an image returns that image.
  std::string image() const;
  /// Returns the compiler's output.
  std::string log() const;
  /// "sm_90", or "compute_90" for PTX.
  std::string arch() const;
  const std::string& name() const;

 private:
  class GPUOS_PRIVATE State;

  explicit JitModule(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

/// Waits until the launches in a stream are done, by default in the legacy
/// default stream. It does not wait for tasks of a Runtime in its own streams.
/// A kernel that never ends blocks it until an Interrupt ends the wait.
/// Throws: BackendUnavailable, CudaError, Cancelled.
GPUOS_API void synchronize(Stream stream = {}, int device = 0);

/// Compiles on background threads, which all callers share.
/// Throws: from the future, the exceptions of JitModule().
GPUOS_API std::future<JitModule> compile_async(JitSource source, int device = 0,
                                               std::stop_token stop = {});

}  // namespace gpuos
