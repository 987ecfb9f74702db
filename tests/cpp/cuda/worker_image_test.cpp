#include "cuda/worker_image.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/embedded.h"
#include "gpuos/error.h"
#include "jit/elf_resources.h"
#include "jit/image.h"
#include "jit/nvrtc_api.h"
#include "nvrtc_support.h"

namespace gpuos::cu {
namespace {

TEST(WorkerImages, EmbeddedOneIsThereOrSaysWhyNot) {
  if (!embedded_worker_image().empty()) {
    const LoadableWorker worker = make_worker_image(WorkerImage::Embedded, 90);
    EXPECT_EQ(worker.kind, "embedded");
    EXPECT_EQ(worker.binary, embedded_worker_image());
    return;
  }
  try {
    make_worker_image(WorkerImage::Embedded, 90);
    FAIL() << "no exception";
  } catch (const BackendUnavailable& error) {
    EXPECT_NE(std::string(error.what()).find("built without"),
              std::string::npos);
  }
}

TEST(WorkerImages, AreForNoDeviceOlderThanTheMemoryModel) {
  for (const int device : {70, 75, 80, 90, 121})
    EXPECT_NO_THROW(check_capability(device)) << device;
  for (const int device : {30, 52, 60, 62}) {
    try {
      check_capability(device);
      FAIL() << device;
    } catch (const BackendUnavailable& error) {
      EXPECT_NE(std::string(error.what()).find("7.0 or newer, got"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(WorkerImages, EmbeddedArchitecturesAreListed) {
  const auto names = architectures_of(embedded_worker_image());
  if (embedded_worker_image().empty()) {
    EXPECT_TRUE(names.empty());
  } else {
    EXPECT_NE(std::ranges::find(names, "sm_90"), names.end());
  }
  EXPECT_TRUE(architectures_of("not a fat image at all").empty());
}

TEST(WorkerImages, NvrtcBuildsTheKernelForOldAndNewDevices) {
  GPUOS_SKIP_WITHOUT_NVRTC();
  for (const int compute_capability : {80, 90, 120}) {
    if (compute_capability > jit::nvrtc().archs.back()) continue;
    const LoadableWorker worker =
        make_worker_image(WorkerImage::Nvrtc, compute_capability);
    EXPECT_EQ(worker.kind, "nvrtc");
    const jit::Resources needs =
        jit::read_resources(worker.binary, "gpuos_worker");
    EXPECT_EQ(needs.registers, jit::kWorkerRegisters) << compute_capability;
    // A context has this much for each thread. For more, the driver waits at
    // the first launch until the device is idle and no graph is captured.
    EXPECT_LE(needs.stack_bytes, 1024u) << compute_capability;
  }
}

TEST(WorkerImages, AutoIsNotAKind) {
  EXPECT_THROW(make_worker_image(WorkerImage::Auto, 90), InvalidArgument);
}

}  // namespace
}  // namespace gpuos::cu
