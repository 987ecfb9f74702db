// Tests of Session on a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "cuda_support.h"
#include "gpuos/module_registry.h"
#include "gpuos/session.h"

namespace gpuos::cu {
namespace {

class CudaSession : public CudaResidencyTest {
 protected:
  Session& session() {
    if (session_ == nullptr)
      session_ = std::make_unique<Session>(start(GetParam()));
    return *session_;
  }
  void TearDown() override {
    session_.reset();
    CudaResidencyTest::TearDown();
  }
  template <typename T>
  T value_of(std::string_view name) {
    T value{};
    session().read(name, &value, sizeof value);
    return value;
  }
  static std::size_t modules_of_sessions() {
    const auto all = ModuleRegistry::list();
    return static_cast<std::size_t>(
        std::ranges::count_if(all, [](const ModuleInfo& info) {
          return info.name.find("(cell ") != info.name.npos;
        }));
  }

 private:
  std::unique_ptr<Session> session_;
};

TEST_P(CudaSession, ACellLaunchesAsCudaDoes) {
  session().run(
      "struct Pair { int x; float y; };\n"
      "constexpr int width = 64;\n"
      "__device__ int offset = 5;\n"
      "__device__ int table[4] = {1, 2, 3, 4};\n"
      "template <typename T> __global__ void fill(T* out, T value, int n) {\n"
      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
      "  if (i < n) out[i] = value;\n"
      "}\n"
      "__global__ void mix(int* out, const int* t, int by, Pair p, bool b,\n"
      "                    double d, int* slot) {\n"
      "  out[0] = t[1] + by; out[1] = p.x + (int)p.y + b + (int)d;\n"
      "  *slot = 7;\n"
      "}");
  DeviceArray<std::int32_t> x(runtime(), 100, 0);
  session().bind("x", x.view());
  session().bind("n", 100);
  const CellResult cell = session().run(
      "fill<int><<<(n + width - 1) / width, width>>>(x, -3, n);\n"
      "mix<<<1, dim3(1, 1), 0>>>(x, table, offset, Pair{2, 3.5f}, true, 1e1,\n"
      "                          &offset);");
  EXPECT_EQ(cell.launches, 2u);
  const auto values = x.read();
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[1], 2 + 3 + 1 + 10);
  EXPECT_EQ(values[2], -3);
  EXPECT_EQ(values[99], -3);
  EXPECT_EQ(value_of<std::int32_t>("offset"), 7);
}

TEST_P(CudaSession, LaunchesComeAfterTasksAndBeforeLaterOnes) {
  session().run("__global__ void twice(int* x) { x[threadIdx.x] *= 2; }");
  DeviceArray<std::int32_t> x(runtime(), 32, 0);
  session().bind("x", x.view());
  for (int round = 0; round < 20; ++round) {
    fill(x.view(), round);
    session().run("twice<<<1, 32>>>(x);");
    add(x.view(), x.view(), x.view());
    EXPECT_EQ(x.read(), Ints(32, 4 * round));
  }
}

TEST_P(CudaSession, KernelsShareTheStorageOfAVariable) {
  session().run(
      "namespace m { __device__ int count; }"
      "__constant__ int step[2] = {1, 10};");
  session().run("__global__ void one() { atomicAdd(&m::count, step[0]); }");
  session().run(
      "__device__ void more() { atomicAdd(&m::count, step[1]); }"
      "__global__ void ten() { more(); }");
  session().run("one<<<2, 32>>>(); ten<<<1, 2>>>();");
  EXPECT_EQ(value_of<std::int32_t>("m::count"), 84);
  const std::array steps{100, 1000};
  session().write("step", steps.data(), sizeof steps);
  session()["one"].launch(1, 1, {});
  GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
  EXPECT_EQ(value_of<std::int32_t>("m::count"), 184);
  EXPECT_EQ(session().variable("step").bytes, 8u);
}

TEST_P(CudaSession, AVariableThatIsDefinedAgainHasNewStorage) {
  session().run("__device__ int n = 1; __global__ void k() { ++n; }");
  session().run("k<<<1, 1>>>();");
  const Kernel old = session()["k"];
  session().run("__device__ int n = 10;");
  session().run("k<<<1, 1>>>();");
  EXPECT_EQ(value_of<std::int32_t>("n"), 11);
  // It still has the storage that it was linked with.
  old.launch(1, 1, {});
  GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
  EXPECT_EQ(value_of<std::int32_t>("n"), 11);
}

TEST_P(CudaSession, AFunctionBecomesAnOperator) {
  session().run(
      "__device__ float shift = 0.5f;"
      "inline __device__ float half(float x) { return x / 2; }"
      "__device__ float inner(float x) { return half(x) + shift; }"
      "__device__ float f(float x, float by, float y) {"
      "  return inner(x) * by + y; }");
  const Operator op = session().make_operator("f", "scaled", {"by"});
  DeviceArray<float> x(runtime(), 1000, 4.0f);
  DeviceArray<float> y(runtime(), 1000, 1.0f);
  DeviceArray<float> out(runtime(), 1000, 0.0f);
  const auto run = [&] {
    runtime().submit("scaled", {x.view(), y.view()}, out.view(), {10.0f});
    return out.read();
  };
  EXPECT_EQ(run(), std::vector<float>(1000, 26.0f));
  const float shift = 1.5f;
  session().write("shift", &shift, sizeof shift);
  EXPECT_EQ(run(), std::vector<float>(1000, 36.0f));
  session().run("__device__ float inner(float x) { return x; }");
  EXPECT_EQ(run(), std::vector<float>(1000, 36.0f));
  session().make_operator("f", "scaled", {"by"});
  EXPECT_EQ(run(), std::vector<float>(1000, 41.0f));
  EXPECT_EQ(op.name(), "scaled");
}

TEST_P(CudaSession, AnOperatorOutlivesItsSession) {
  {
    Session other(start(GetParam()));
    other.run(
        "__device__ int by = 3; "
        "__device__ int f(int x) { return x * by; }");
    other.make_operator("f");
  }
  DeviceArray<std::int32_t> x(runtime(), 10, 5);
  runtime().submit("f", {x.view()}, x.view());
  EXPECT_EQ(x.read(), Ints(10, 15));
}

TEST_P(CudaSession, FunctionsThatCannotBecomeOperatorsAreRefused) {
  session().run(
      "struct P { int x; };"
      "__device__ P p(P x) { return x; }"
      "__device__ float mixed(float x, int n) { return x + n; }"
      "__device__ short narrow(short x) { return x; }");
  EXPECT_THROW(session().make_operator("p"), InvalidArgument);
  EXPECT_THROW(session().make_operator("mixed"), InvalidArgument);
  EXPECT_THROW(session().make_operator("narrow"), InvalidArgument);
  EXPECT_THROW(session().make_operator("mixed", "", {"q"}), InvalidArgument);
  EXPECT_NO_THROW(session().make_operator("mixed", "", {"n"}));
}

TEST_P(CudaSession, WrongArgumentsAreRefusedBeforeTheLaunch) {
  session().run("__global__ void k(int* x, float y) {}");
  DeviceArray<std::int32_t> x(runtime(), 1, 0);
  session().bind("x", x.view());
  EXPECT_THROW(session().run("k<<<1, 1>>>(x);"), InvalidArgument);
  EXPECT_THROW(session().run("k<<<1, 1>>>(x, x);"), InvalidArgument);
  EXPECT_THROW(session().run("k<<<1, 1>>>(unbound, 1);"), InvalidArgument);
  EXPECT_THROW(session().run("k<<<1, 4096>>>(x, 1);"), InvalidArgument);
  EXPECT_EQ(session().run("k<<<1, 1>>>(x, 1);").launches, 1u);
}

TEST_P(CudaSession, ImagesAreUnloadedWithTheirLastUser) {
  const std::size_t before = modules_of_sessions();
  session().run("__device__ int n; __global__ void k() { ++n; }");
  session().run("k<<<1, 1>>>();");
  EXPECT_EQ(modules_of_sessions(), before + 2);
  std::optional<Kernel> old = session()["k"];
  session().run("__global__ void k() { n += 2; }");
  session().run("k<<<1, 1>>>();");
  EXPECT_EQ(modules_of_sessions(), before + 3);
  old.reset();
  EXPECT_EQ(modules_of_sessions(), before + 2);
  for (int i = 0; i < 100; ++i)
    session().run("__global__ void k() { n += 3; } k<<<1, 1>>>();");
  EXPECT_LE(modules_of_sessions(), before + 3);
  EXPECT_EQ(value_of<std::int32_t>("n"), 303);
}

TEST_P(CudaSession, AnExportedSessionRunsAlone) {
  session().run(
      "__device__ int n = 4; __constant__ int c = 3;"
      "__device__ int f() { return n * c; }"
      "extern \"C\" __global__ void k(int* x) { x[0] = f(); n = 5; }"
      "extern \"C\" __global__ void l(int* x) { x[1] = n; }");
  const std::string image = session().export_cubin();
  CUmodule module = nullptr;
  GPUOS_CUDA_CHECK(driver().cuModuleLoadData(&module, image.data()));
  DeviceArray<std::int32_t> x(runtime(), 2, 0);
  for (const char* name : {"k", "l"}) {
    CUfunction function = nullptr;
    GPUOS_CUDA_CHECK(driver().cuModuleGetFunction(&function, module, name));
    std::int32_t* data = x.data();
    void* parameters[] = {&data};
    GPUOS_CUDA_CHECK(driver().cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0,
                                             nullptr, parameters, nullptr));
  }
  GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
  EXPECT_EQ(x.read(), (Ints{12, 5}));
  GPUOS_CUDA_CHECK(driver().cuModuleUnload(module));
}

GPUOS_FOR_EACH_RESIDENCY(CudaSession);

}  // namespace
}  // namespace gpuos::cu
