#include "modules/loaded_kernel.h"

#include <algorithm>
#include <array>

#include "base/concat.h"
#include "driver/check.h"
#include "gpuos/error.h"
#include "jit/symbols.h"

namespace gpuos::cu {
namespace {

// The bytes that every device grants without being asked.
constexpr std::uint32_t kFreeShared = 48 * 1024;
// A kernel takes at most 32,764 bytes (CUDA C++ Programming Guide).
constexpr std::size_t kMostParameters = 32'764;
// The largest portable number. A larger one must be allowed.
constexpr std::uint64_t kPortableCluster = 8;

CUfunction find_function(const LoadedModule& module, const std::string& name,
                         const std::string& symbol) {
  try {
    return module.function(symbol);
  } catch (const CudaError& error) {
    if (error.code() != CUDA_ERROR_NOT_FOUND) throw;
    throw InvalidArgument(
        concat(name, ": expected a __global__ function, got something else"));
  }
}

// Asking for one more than there are is an error that tools report, so it is
// only done where the number is not known.
std::optional<std::vector<std::size_t>> parameter_bytes(
    CUfunction function, const std::optional<std::vector<std::string>>& types) {
  const auto get = driver().cuFuncGetParamInfo;
  if (get == nullptr) return std::nullopt;
  const std::size_t most = types ? types->size() : kMostParameters;
  std::vector<std::size_t> bytes;
  std::size_t offset = 0;
  std::size_t size = 0;
  while (bytes.size() < most &&
         get(function, bytes.size(), &offset, &size) == CUDA_SUCCESS)
    bytes.push_back(size);
  return bytes;
}

std::uint64_t volume(const Dim3& dim) {
  return std::uint64_t{dim.x} * dim.y * dim.z;
}

std::string text_of(const Dim3& dim) {
  return concat("(", dim.x, ", ", dim.y, ", ", dim.z, ")");
}

// Attributes that only cuLaunchKernelEx takes.
class Attributes {
 public:
  explicit Attributes(const LaunchConfig& config) {
    if (config.cooperative) {
      CUlaunchAttribute& attribute = add(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
      attribute.value.cooperative = 1;
    }
    if (config.cluster.x != 0) {
      CUlaunchAttribute& attribute = add(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
      attribute.value.clusterDim = {config.cluster.x, config.cluster.y,
                                    config.cluster.z};
    }
  }
  CUlaunchAttribute* data() { return all_.data(); }
  unsigned int count() const { return count_; }

 private:
  CUlaunchAttribute& add(CUlaunchAttributeID id) {
    CUlaunchAttribute& attribute = all_[count_++];
    attribute.id = id;
    return attribute;
  }

  std::array<CUlaunchAttribute, 2> all_{};
  unsigned int count_ = 0;
};

}  // namespace

CUstream handle_of(const gpuos::Stream& stream) {
  return stream.is_named ? static_cast<CUstream>(stream.handle)
                         : CU_STREAM_LEGACY;
}

LoadedKernel::LoadedKernel(ModuleUse<LoadedModule> module, std::string name,
                           const std::string& symbol)
    : module_(std::move(module)),
      name_(std::move(name)),
      function_(find_function(*module_.shared(), name_, symbol)),
      allowed_shared_(kFreeShared) {
  const ContextScope scope(module_->context());
  parameters_.types = jit::parameter_types(symbol);
  parameters_.bytes = parameter_bytes(function_, parameters_.types);
  max_threads_ = attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
}

int LoadedKernel::attribute(CUfunction_attribute which) const {
  int value = 0;
  GPUOS_CUDA_CHECK(driver().cuFuncGetAttribute(&value, which, function_));
  return value;
}

KernelAttributes LoadedKernel::attributes() const {
  const ContextScope scope(module_->context());
  const int shared = attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
  const int most = module_->context().attribute(
      CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  return {.registers = attribute(CU_FUNC_ATTRIBUTE_NUM_REGS),
          .shared_bytes = shared,
          .local_bytes = attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
          .constant_bytes = attribute(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
          .max_threads = max_threads_,
          .max_dynamic_shared_bytes = most - shared};
}

void LoadedKernel::check(const LaunchConfig& config) const {
  if (volume(config.grid) == 0 || volume(config.block) == 0)
    throw InvalidArgument(
        concat(name_, ": grid and block: expected sizes of at least 1, got ",
               text_of(config.grid), " and ", text_of(config.block)));
  if (volume(config.block) > static_cast<std::uint64_t>(max_threads_))
    throw InvalidArgument(concat(name_, ": block: expected at most ",
                                 max_threads_, " threads, got ",
                                 volume(config.block)));
  const Dim3& cluster = config.cluster;
  if (cluster.x == 0) return;
  if (volume(cluster) == 0 || config.grid.x % cluster.x != 0 ||
      config.grid.y % cluster.y != 0 || config.grid.z % cluster.z != 0)
    throw InvalidArgument(
        concat(name_, ": cluster: expected a shape that divides the grid ",
               text_of(config.grid), ", got ", text_of(cluster)));
  if (volume(cluster) > kPortableCluster)
    GPUOS_CUDA_CHECK(driver().cuFuncSetAttribute(
        function_, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
}

void LoadedKernel::allow_shared(std::uint32_t bytes) const {
  if (bytes <= allowed_shared_.load()) return;
  const int most = attributes().max_dynamic_shared_bytes;
  if (static_cast<std::int64_t>(bytes) > most)
    throw InvalidArgument(concat(name_, ": shared_bytes: expected at most ",
                                 most, ", got ", bytes));
  // The most of all, so that launches of several threads do not undo each
  // other's.
  GPUOS_CUDA_CHECK(driver().cuFuncSetAttribute(
      function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most));
  allowed_shared_.store(static_cast<std::uint32_t>(most));
}

void LoadedKernel::launch(const LaunchConfig& config,
                          const KernelArgs& args) const {
  BoundArguments bound(name_, parameters_, args);
  const CurrentContext scope(module_->context());
  check(config);
  allow_shared(config.shared_bytes);
  const CUstream stream = handle_of(config.stream);
  const bool is_captured = LaunchRecord::is_capturing(stream);
  launch_in(stream, config, bound);
  module_->launches().note(stream, is_captured);
}

void LoadedKernel::launch_in(CUstream stream, const LaunchConfig& config,
                             BoundArguments& bound) const {
  const Dim3 &grid = config.grid, &block = config.block;
  Attributes attributes(config);
  if (attributes.count() == 0) {
    GPUOS_CUDA_CHECK(driver().cuLaunchKernel(
        function_, grid.x, grid.y, grid.z, block.x, block.y, block.z,
        config.shared_bytes, stream, bound.pointers(), nullptr));
    return;
  }
  if (driver().cuLaunchKernelEx == nullptr)
    throw BackendUnavailable(
        concat(name_,
               ": cooperative and cluster launches need a driver of "
               "CUDA 11.8 or newer"));
  const CUlaunchConfig launch{grid.x,
                              grid.y,
                              grid.z,
                              block.x,
                              block.y,
                              block.z,
                              config.shared_bytes,
                              stream,
                              attributes.data(),
                              attributes.count()};
  GPUOS_CUDA_CHECK(
      driver().cuLaunchKernelEx(&launch, function_, bound.pointers(), nullptr));
}

int LoadedKernel::max_active_blocks(int block, std::size_t shared_bytes) const {
  const ContextScope scope(module_->context());
  int blocks = 0;
  GPUOS_CUDA_CHECK(driver().cuOccupancyMaxActiveBlocksPerMultiprocessor(
      &blocks, function_, block, shared_bytes));
  return blocks;
}

Occupancy LoadedKernel::suggest_block(std::size_t shared_bytes) const {
  const ContextScope scope(module_->context());
  Occupancy occupancy;
  GPUOS_CUDA_CHECK(driver().cuOccupancyMaxPotentialBlockSize(
      &occupancy.min_grid, &occupancy.block, function_, nullptr, shared_bytes,
      0));
  return occupancy;
}

}  // namespace gpuos::cu

namespace gpuos {
namespace {

const cu::KernelHandle& checked(
    const std::shared_ptr<const cu::KernelHandle>& handle) {
  if (handle == nullptr)
    throw InvalidArgument("Kernel: expected one of a JitModule, got none");
  return *handle;
}

}  // namespace

const std::string& Kernel::name() const { return checked(handle_).name(); }

KernelAttributes Kernel::attributes() const {
  return checked(handle_).current()->attributes();
}

std::vector<std::size_t> Kernel::parameter_bytes() const {
  return checked(handle_).current()->parameters().bytes.value_or(
      std::vector<std::size_t>{});
}

void Kernel::launch(const LaunchConfig& config, const KernelArgs& args) const {
  checked(handle_).current()->launch(config, args);
}

void Kernel::launch(Dim3 grid, Dim3 block, const KernelArgs& args,
                    std::uint32_t shared_bytes, Stream stream) const {
  launch({.grid = grid,
          .block = block,
          .shared_bytes = shared_bytes,
          .stream = stream},
         args);
}

int Kernel::max_active_blocks(int block, std::size_t shared_bytes) const {
  return checked(handle_).current()->max_active_blocks(block, shared_bytes);
}

Occupancy Kernel::suggest_block(std::size_t shared_bytes) const {
  return checked(handle_).current()->suggest_block(shared_bytes);
}

}  // namespace gpuos
