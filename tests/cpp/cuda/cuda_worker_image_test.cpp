#include <cstdio>
#include <cstring>

#include "base/embedded.h"
#include "cuda_support.h"
#include "errors.h"
#include "jit/objects/image.h"

namespace gpuos::cu {
namespace {

class CudaWorkerImage : public CudaTest {
 protected:
  static constexpr std::size_t kSize = 10'007;  // no multiple of anything

  RuntimeOptions options_with(WorkerImage image) const {
    RuntimeOptions options = cuda_options(Residency::Resident);
    options.worker_image = image;
    return options;
  }

  template <typename T>
  void run_builtins(std::vector<char>& results) {
    std::vector<T> a(kSize), b(kSize);
    for (std::size_t i = 0; i < kSize; ++i) {
      a[i] = static_cast<T>(static_cast<double>(i) * 0.37 - 1000);
      b[i] = static_cast<T>(static_cast<double>(i % 91) - 44.5);
    }
    DeviceArray<T> x(runtime(), a), y(runtime(), b), out(runtime(), kSize);
    for (const char* name : {"add", "sub", "mul", "div"}) {
      runtime().submit(name, {x.view(), y.view()}, out.view());
      keep(out.read(), results);
    }
    runtime().submit("copy", {x.view(1, kSize - 1)}, out.view(0, kSize - 1));
    runtime().submit("fill", {}, out.view(3, 5), {42});
    keep(out.read(), results);
  }

  void run_expressions(std::vector<char>& results) {
    std::vector<float> values(kSize);
    for (std::size_t i = 0; i < kSize; ++i)
      values[i] = static_cast<float>(i) * 0.001f + 0.01f;
    DeviceArray<float> x(runtime(), values), out(runtime(), kSize);
    int number = 0;
    for (const char* text : {"o = sin(x) * exp(x / 3)", "o = tanh(x) / (x + 1)",
                             "o = sqrt(x) - log(x)"}) {
      const Operator op = runtime().define(
          {.name = "e" + std::to_string(number++), .expression = text});
      runtime().submit(op, {x.view()}, out.view());
      keep(out.read(), results);
    }
  }

  template <typename T>
  static void keep(const std::vector<T>& values, std::vector<char>& results) {
    const std::size_t at = results.size();
    results.resize(at + values.size() * sizeof(T));
    std::memcpy(results.data() + at, values.data(), values.size() * sizeof(T));
  }

  std::vector<char> run_all() {
    std::vector<char> results;
    run_builtins<float>(results);
    run_builtins<double>(results);
    run_builtins<std::int32_t>(results);
    run_builtins<std::int64_t>(results);
    run_expressions(results);
    return results;
  }
};

TEST_F(CudaWorkerImage, EveryImageGivesTheSameBits) {
  start(options_with(WorkerImage::Nvrtc));
  EXPECT_EQ(runtime().stats().worker_image, "nvrtc");
  const std::vector<char> expected = run_all();
  const std::pair<WorkerImage, const char*> others[] = {
      {WorkerImage::Embedded, "embedded"}, {WorkerImage::Ptx, "ptx"}};
  for (const auto& [image, name] : others) {
    if (embedded_worker_image().empty()) {
      EXPECT_TRUE(says(
          thrown_by<BackendUnavailable>([&] { start(options_with(image)); }),
          "built without"));
      continue;
    }
    start(options_with(image));
    EXPECT_EQ(runtime().stats().worker_image, name);
    EXPECT_EQ(run_all(), expected) << name;
  }
}

TEST_F(CudaWorkerImage, EveryImageGrantsTheSameBudget) {
  for (const WorkerImage image :
       {WorkerImage::Nvrtc, WorkerImage::Embedded, WorkerImage::Ptx}) {
    if (embedded_worker_image().empty() && image != WorkerImage::Nvrtc)
      continue;
    start(options_with(image));
    const Stats stats = runtime().stats();
    std::printf(
        "%s: %u workers of %u threads, %u registers, %u bytes of "
        "stack\n",
        stats.worker_image.c_str(), stats.workers, stats.threads_per_worker,
        stats.registers_per_thread, stats.stack_bytes_per_thread);
    EXPECT_EQ(stats.registers_per_thread, jit::kWorkerRegisters);
    EXPECT_GE(stats.stack_bytes_per_thread, 512u);
    EXPECT_GE(stats.workers, 4u);
  }
}

TEST_F(CudaWorkerImage, AutoTakesTheEmbeddedOneOrCompiles) {
  start(Residency::Auto);
  EXPECT_EQ(runtime().stats().worker_image,
            embedded_worker_image().empty() ? "nvrtc" : "embedded");
}

}  // namespace
}  // namespace gpuos::cu
