#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "cuda/worker_kernel.h"
#include "driver/owned.h"
#include "jit/objects/image.h"
#include "modules/module_record.h"
#include "queue/backend.h"

namespace gpuos::cu {

/// Linked operators and the slots that they are for.
struct OperatorImage {
  std::string name;
  jit::Image image;
  std::vector<std::uint32_t> slots;
};

/// Operators as one linked image.
OperatorImage build_image(std::span<const OperatorBuild> builds,
                          int compute_capability, const jit::Budget& budget);

/// Builds several images, which threads compile.
std::vector<OperatorImage> build_images(std::span<const OperatorBuild> builds,
                                        int compute_capability,
                                        const jit::Budget& budget);

/// Maps slots of the operator table to loaded modules.
///
/// Threads: load() and unload_dropped() belong to the control thread. They must
/// not run during a residency, because the driver would wait for its end.
class OperatorModules {
 public:
  OperatorModules(int ordinal, const WorkerKernel& kernel);
  ~OperatorModules();

  /// Loads the images and begins to write their pointers into the table, all or
  /// none.
  void load(std::span<const OperatorImage> images);
  /// Orders later work of `stream` after the changes of the table by load().
  void put_before(CUstream stream);
  /// Waits for the loads. The new slots must not be used before that.
  void wait();
  /// Unloads the module after its last slot was dropped. Threads: any.
  void drop(std::span<const std::uint32_t> slots);
  std::size_t dropped_count() const;
  void unload_dropped();

  std::uint64_t loads() const noexcept { return loads_.load(); }
  std::uint64_t unloads() const noexcept { return unloads_.load(); }
  void abandon() noexcept;

 private:
  void load_one(const OperatorImage& image);

  struct Module {
    CUmodule handle;
    ModuleRecord registered;
    std::shared_ptr<const void> keeps;
    ModuleRecord& record() noexcept { return registered; }
  };

  const int ordinal_;
  const WorkerKernel& kernel_;
  Stream stream_;
  Event written_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, ModuleUse<Module>> modules_;
  std::vector<CUmodule> dropped_;
  std::atomic<std::uint64_t> loads_{0};
  std::atomic<std::uint64_t> unloads_{0};
};

}  // namespace gpuos::cu
