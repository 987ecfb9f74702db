#include "cuda/worker_image.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/embedded.h"
#include "errors.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

TEST(WorkerImages, EmbeddedOneIsThereOrSaysWhyNot) {
  if (!embedded_worker_image().empty()) {
    const LoadableWorker worker = make_worker_image(WorkerImage::Embedded, 90);
    EXPECT_EQ(worker.kind, "embedded");
    EXPECT_EQ(worker.binary, embedded_worker_image());
    return;
  }
  EXPECT_TRUE(says(thrown_by<BackendUnavailable>(
                       [&] { make_worker_image(WorkerImage::Embedded, 90); }),
                   "built without"));
}

TEST(WorkerImages, AreForNoDeviceOlderThanTheMemoryModel) {
  for (const int device : {70, 75, 80, 90, 121})
    EXPECT_NO_THROW(check_capability(device)) << device;
  for (const int device : {30, 52, 60, 62}) {
    EXPECT_TRUE(
        says(thrown_by<BackendUnavailable>([&] { check_capability(device); }),
             "7.0 or newer, got"));
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

TEST(WorkerImages, AutoIsNotAKind) {
  EXPECT_THROW(make_worker_image(WorkerImage::Auto, 90), InvalidArgument);
}

}  // namespace
}  // namespace gpuos::cu
