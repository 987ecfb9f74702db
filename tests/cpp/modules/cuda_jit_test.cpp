// Tests of JitModule on a GPU.
#include <gtest/gtest.h>

#include <numeric>

#include "cuda_support.h"
#include "errors.h"
#include "gpuos/jit_module.h"
#include "gpuos/module_registry.h"

namespace gpuos::cu {
namespace {

constexpr const char* kSource = R"(
template <typename T> __global__ void scale(T* x, T by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= by;
}
__device__ int counter = 5;
__constant__ float table[4];
extern "C" __global__ void read_all(float* out) {
  out[0] = atomicAdd(&counter, 1);
  out[1] = table[2];
}
struct Pair { float x; double y; };
extern "C" __global__ void take(float* out, bool a, signed char b, short c,
                                unsigned long long d, Pair e) {
  out[0] = a; out[1] = b; out[2] = c; out[3] = d; out[4] = e.x; out[5] = e.y;
}
extern "C" __global__ void reverse(float* x) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}
extern "C" __global__ void ranks(int* out) {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  out[blockIdx.x] = rank;
}
extern "C" __global__ void __launch_bounds__(128) small(int* out) { *out = 1; }
)";

class CudaJit : public CudaTest {
 protected:
  static JitModule compile(JitOptions options = {}) {
    return JitModule({.source = kSource,
                      .name_expressions = {"scale<float>", "scale<double>",
                                           "&counter", "&table"},
                      .options = std::move(options),
                      .name = "kernels.cu"});
  }
  // Copies go through the driver: no runtime is needed.
  template <typename T>
  struct Buffer {
    explicit Buffer(std::vector<T> values) : host(std::move(values)) {
      GPUOS_CUDA_CHECK(driver().cuMemAlloc(&device, host.size() * sizeof(T)));
      GPUOS_CUDA_CHECK(
          driver().cuMemcpyHtoD(device, host.data(), host.size() * sizeof(T)));
    }
    ~Buffer() { driver().cuMemFree(device); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    T* get() const { return reinterpret_cast<T*>(device); }
    const std::vector<T>& read() {
      GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
      GPUOS_CUDA_CHECK(
          driver().cuMemcpyDtoH(host.data(), device, host.size() * sizeof(T)));
      return host;
    }
    std::vector<T> host;
    CUdeviceptr device = 0;
  };
};

TEST_F(CudaJit, TemplateRunsForEachType) {
  const JitModule module = compile();
  Buffer<float> x({1, 2, 3});
  Buffer<double> y({1, 2, 3});
  module["scale<float>"].launch(1, 32, KernelArgs::of(x.get(), 2.0f, 3));
  module["scale<double>"].launch(1, 32, KernelArgs::of(y.get(), 0.5, 3));
  EXPECT_EQ(x.read(), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(y.read(), (std::vector<double>{0.5, 1, 1.5}));
}

TEST_F(CudaJit, PtxThatTheDriverRefusesSaysWhy) {
  // sm_80 has no clusters.
  const JitModule module = compile({.arch = "compute_80"});
  EXPECT_TRUE(says(thrown_by<CompileError>([&] { module.kernel("ranks"); }),
                   "cluster_ctarank"));
}

TEST_F(CudaJit, ArgumentsOfEveryWidthArrive) {
  struct Pair {
    float x;
    double y;
  };
  Buffer<float> out(std::vector<float>(6));
  KernelArgs args;
  args.add(out.get()).add(true).add(Scalar(-3)).add(Scalar(-300));
  args.add(std::uint64_t{1} << 40).add(Pair{1.5f, 2.5});
  compile()["take"].launch(1, 1, args);
  EXPECT_EQ(out.read(),
            (std::vector<float>{1, -3, -300, 1099511627776.0f, 1.5f, 2.5f}));
}

TEST_F(CudaJit, WrongArgumentsNeverReachTheDevice) {
  const JitModule module = compile();
  const Kernel scale = module["scale<float>"];
  EXPECT_EQ(scale.parameter_bytes(), (std::vector<std::size_t>{8, 4, 4}));
  Buffer<float> x({1});
  for (const KernelArgs& args :
       {KernelArgs::of(x.get(), 2.0f), KernelArgs::of(x.get(), 2.0, 1),
        KernelArgs::of(x.get(), 2.0f, 1.0f), KernelArgs::of(2.0, 2.0f, 1)})
    EXPECT_THROW(scale.launch(1, 32, args), InvalidArgument);
  EXPECT_EQ(x.read(), std::vector<float>{1});
}

TEST_F(CudaJit, VariablesHaveAddresses) {
  const JitModule module = compile();
  EXPECT_EQ(module.global_bytes("counter"), 4);
  EXPECT_EQ(module.global_bytes("table"), 16);
  const std::array<float, 4> values{1, 2, 3, 4};
  GPUOS_CUDA_CHECK(driver().cuMemcpyHtoD(
      address_of(module.global_address("table")), values.data(), 16));
  Buffer<float> out({0, 0});
  const Kernel kernel = module["read_all"];
  for (int i = 0; i < 3; ++i) kernel.launch(1, 1, KernelArgs::of(out.get()));
  EXPECT_EQ(out.read(), (std::vector<float>{7, 3}));
  EXPECT_THROW(static_cast<void>(module.global_address("nothing")),
               InvalidArgument);
  EXPECT_THROW(module.kernel("counter"), InvalidArgument);
}

TEST_F(CudaJit, VariablesAreReadAndWritten) {
  const JitModule module = compile();
  const std::array<float, 4> values{1, 2, 3, 4};
  module.write("table", values.data(), sizeof(values));
  const int start = 20;
  module.write("counter", &start, sizeof(start));
  Buffer<float> out({0, 0});
  module["read_all"].launch(1, 1, KernelArgs::of(out.get()));
  int counter = 0;
  module.read("counter", &counter, sizeof(counter));
  EXPECT_EQ(counter, 21);
  EXPECT_EQ(out.read(), (std::vector<float>{20, 3}));
  EXPECT_THROW(module.write("table", &start, sizeof(start)), InvalidArgument);
}

TEST_F(CudaJit, ImagesThatWereCompiledBeforeRun) {
  const std::string arch = std::to_string(context_->compute_capability());
  for (const std::string& kind : {"sm_" + arch, "compute_" + arch}) {
    const JitModule module =
        JitModule::from_image(compile({.arch = kind}).image(), "given");
    EXPECT_EQ(module.name(), "given");
    Buffer<float> x({1, 2, 3});
    module["scale<float>"].launch(1, 32, KernelArgs::of(x.get(), 2.0f, 3));
    EXPECT_EQ(x.read(), (std::vector<float>{2, 4, 6})) << kind;
    EXPECT_EQ(module.global_bytes("table"), 16);
  }
}

TEST_F(CudaJit, MuchSharedMemoryIsAskedFor) {
  const Kernel reverse = compile()["reverse"];
  std::vector<float> values(512);
  std::iota(values.begin(), values.end(), 0.0f);
  Buffer<float> x(values);
  reverse.launch(1, 512, KernelArgs::of(x.get()), 96 * 1024);
  EXPECT_EQ(x.read().front(), 511);
  const int most = reverse.attributes().max_dynamic_shared_bytes;
  EXPECT_THROW(reverse.launch(1, 512, KernelArgs::of(x.get()),
                              static_cast<std::uint32_t>(most) + 1),
               InvalidArgument);
}

TEST_F(CudaJit, ClustersAndCooperativeGridsRun) {
  if (context_->compute_capability() < 90) GTEST_SKIP() << "no clusters";
  const Kernel ranks = compile()["ranks"];
  Buffer<int> out(std::vector<int>(8, -1));
  ranks.launch({.grid = 8, .block = 32, .cluster = 4},
               KernelArgs::of(out.get()));
  EXPECT_EQ(out.read(), (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3}));
  ranks.launch({.grid = 8, .block = 32, .cooperative = true},
               KernelArgs::of(out.get()));
  EXPECT_EQ(out.read(), std::vector<int>(8, 0));
  EXPECT_THROW(ranks.launch({.grid = 8, .block = 32, .cluster = 3},
                            KernelArgs::of(out.get())),
               InvalidArgument);
}

TEST_F(CudaJit, LaunchesTooLargeAreRefused) {
  const Kernel small = compile()["small"];
  EXPECT_EQ(small.attributes().max_threads, 128);
  EXPECT_GT(small.attributes().registers, 0);
  EXPECT_GT(small.max_active_blocks(128), 0);
  EXPECT_LE(small.suggest_block().block, 128);
  Buffer<int> out({0});
  EXPECT_THROW(small.launch(1, 256, KernelArgs::of(out.get())),
               InvalidArgument);
  EXPECT_THROW(small.launch(0, 32, KernelArgs::of(out.get())), InvalidArgument);
}

TEST_F(CudaJit, KernelKeepsItsModule) {
  const std::size_t before = ModuleRegistry::list().size();
  Kernel kernel;
  {
    const JitModule module = compile();
    kernel = module["scale<float>"];
    const ModuleInfo info = ModuleRegistry::list().back();
    EXPECT_EQ(info.name, "kernels.cu");
    ASSERT_EQ(info.holders.size(), 2);
    EXPECT_EQ(info.holders[0].what, "JitModule");
    EXPECT_EQ(info.holders[1].what, "Kernel");
  }
  Buffer<float> x({1, 2, 3});
  kernel.launch(1, 32, KernelArgs::of(x.get(), 2.0f, 3));
  EXPECT_EQ(x.read(), (std::vector<float>{2, 4, 6}));
  kernel = {};
  EXPECT_EQ(ModuleRegistry::list().size(), before);
}

TEST_F(CudaJit, HandlesRunTheSourceThatReplacedTheirs) {
  JitModule module = compile();
  const Kernel kernel = module["read_all"];
  const std::array<float, 4> table{1, 2, 3, 4};
  module.write("table", table.data(), sizeof(table));
  const Stream stream = make_stream();
  Buffer<float> out({0, 0});
  GPUOS_CUDA_CHECK(driver().cuStreamBeginCapture(
      stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED));
  kernel.launch(1, 1, KernelArgs::of(out.get()), 0, named(stream));
  CUgraph graph = nullptr;
  CUgraphExec captured = nullptr;
  GPUOS_CUDA_CHECK(driver().cuStreamEndCapture(stream.get(), &graph));
  GPUOS_CUDA_CHECK(driver().cuGraphInstantiateWithFlags(&captured, graph, 0));

  std::string other = kSource;
  other.replace(other.find("counter = 5"), 11, "counter = 50");
  EXPECT_EQ(module.replace({.source = other, .keep = {"table"}}), 2u);
  kernel.launch(1, 1, KernelArgs::of(out.get()));
  EXPECT_EQ(out.read(), (std::vector<float>{50, 3}));
  EXPECT_EQ(module.replace({.source = other}), 3u);
  kernel.launch(1, 1, KernelArgs::of(out.get()));
  EXPECT_EQ(out.read(), (std::vector<float>{50, 0}));
  other.replace(other.find("read_all(float* out"), 19,
                "read_all(float* out, int");
  EXPECT_THROW(module.replace({.source = other}), InvalidArgument);
  EXPECT_EQ(module.version(), 3u);

  // The graph has the first one.
  GPUOS_CUDA_CHECK(driver().cuGraphLaunch(captured, stream.get()));
  EXPECT_EQ(out.read(), (std::vector<float>{5, 3}));
  driver().cuGraphExecDestroy(captured);
  driver().cuGraphDestroy(graph);
}

class CudaJitDuringTasks : public CudaJit,
                           public testing::WithParamInterface<Residency> {};

// Loading waits for running work: without a park, for the workers' whole lease.
TEST_P(CudaJitDuringTasks, LoadsAndLaunches) {
  RuntimeOptions options = cuda_options(GetParam());
  // Longer than the test, even if other processes share the GPU.
  options.lease = std::chrono::seconds(20);
  options.linger = std::chrono::seconds(20);
  start(options);
  auto memory = runtime().allocate(4);
  const TensorView x(static_cast<std::int32_t*>(memory.get()), 1);
  runtime().wait(fill(x, 0), 10s);
  const JitModule module = compile();
  module.kernel("small");
  const std::uint64_t parks = runtime().stats().parks;
  for (int i = 0; i < 20; ++i) {
    // Tasks are run as bursts until the control thread has launched workers.
    if (GetParam() == Residency::Resident) {
      ASSERT_TRUE(becomes_true([&] { return runtime().stats().is_resident; }));
    }
    const JitModule again = compile({.defines = {{"I", std::to_string(i)}}});
    again.kernel("small");
    runtime().wait(fill(x, i), 10s);
  }
  if (GetParam() == Residency::Resident) {
    EXPECT_GE(runtime().stats().parks, parks + 20);
  }
  EXPECT_EQ(ModuleRegistry::list().back().name, "kernels.cu");
}

GPUOS_FOR_EACH_RESIDENCY(CudaJitDuringTasks);

}  // namespace
}  // namespace gpuos::cu
