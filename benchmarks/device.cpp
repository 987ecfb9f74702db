#include "device.h"

#include "driver/check.h"
#include "driver/driver_api.h"
#include "timing.h"

namespace gpuos::bench {
namespace {

using cu::CUdeviceptr;
using cu::driver;

// extern "C" __global__ void add(float4* o, const float4* a, const float4* b,
//                                unsigned count) {
//   const unsigned i = blockIdx.x * 256 + threadIdx.x;
//   if (i < count) o[i] = a[i] + b[i];
// }
constexpr char kAddPtx[] = R"(.version 7.0
.target sm_80
.address_size 64
.visible .entry add(.param .u64 out, .param .u64 in_a, .param .u64 in_b,
                    .param .u32 count)
.maxntid 256, 1, 1
{
  .reg .pred %outside;
  .reg .f32 %a<4>, %b<4>;
  .reg .b32 %block, %lane, %i, %n;
  .reg .b64 %o, %x, %y, %offset;
  ld.param.u64 %o, [out];
  ld.param.u64 %x, [in_a];
  ld.param.u64 %y, [in_b];
  ld.param.u32 %n, [count];
  mov.u32 %block, %ctaid.x;
  mov.u32 %lane, %tid.x;
  mad.lo.u32 %i, %block, 256, %lane;
  setp.ge.u32 %outside, %i, %n;
  @%outside bra $end;
  cvta.to.global.u64 %o, %o;
  cvta.to.global.u64 %x, %x;
  cvta.to.global.u64 %y, %y;
  mul.wide.u32 %offset, %i, 16;
  add.s64 %o, %o, %offset;
  add.s64 %x, %x, %offset;
  add.s64 %y, %y, %offset;
  ld.global.v4.f32 {%a0, %a1, %a2, %a3}, [%x];
  ld.global.v4.f32 {%b0, %b1, %b2, %b3}, [%y];
  add.f32 %a0, %a0, %b0;
  add.f32 %a1, %a1, %b1;
  add.f32 %a2, %a2, %b2;
  add.f32 %a3, %a3, %b3;
  st.global.v4.f32 [%o], {%a0, %a1, %a2, %a3};
$end:
  ret;
}
)";

constexpr unsigned kThreads = 256;
constexpr std::int64_t kVector = 4;

struct AddArguments {
  AddArguments(const Rig& rig, std::size_t task, std::int64_t elems)
      : out(rig.out_address(task)),
        a(rig.a_address(task)),
        b(rig.b_address(task)),
        count(static_cast<unsigned>(elems / kVector)),
        pointers{&out, &a, &b, &count} {}
  AddArguments(const AddArguments&) = delete;
  AddArguments& operator=(const AddArguments&) = delete;

  unsigned blocks() const { return (count + kThreads - 1) / kThreads; }

  CUdeviceptr out;
  CUdeviceptr a;
  CUdeviceptr b;
  unsigned count;
  void* pointers[4];
};

}  // namespace

struct BareDevice::State {
  cu::CUdevice device = 0;
  cu::CUcontext context = nullptr;
  cu::CUstream stream = nullptr;
  cu::CUmodule module = nullptr;
  cu::CUfunction add = nullptr;

  void await() { GPUOS_CUDA_CHECK(driver().cuStreamSynchronize(stream)); }
};

BareDevice::BareDevice(int ordinal) : state_(std::make_unique<State>()) {
  State& s = *state_;
  GPUOS_CUDA_CHECK(driver().cuInit(0));
  GPUOS_CUDA_CHECK(driver().cuDeviceGet(&s.device, ordinal));
  // It is never released, because other libraries use it until the end.
  GPUOS_CUDA_CHECK(driver().cuDevicePrimaryCtxRetain(&s.context, s.device));
  GPUOS_CUDA_CHECK(driver().cuCtxSetCurrent(s.context));
  GPUOS_CUDA_CHECK(
      driver().cuStreamCreate(&s.stream, cu::CU_STREAM_NON_BLOCKING));
  GPUOS_CUDA_CHECK(driver().cuModuleLoadData(&s.module, kAddPtx));
  GPUOS_CUDA_CHECK(driver().cuModuleGetFunction(&s.add, s.module, "add"));
}

BareDevice::~BareDevice() {
  const cu::DriverApi* api = cu::try_driver();
  if (api == nullptr) return;
  if (state_->module != nullptr) api->cuModuleUnload(state_->module);
  if (state_->stream != nullptr) api->cuStreamDestroy(state_->stream);
}

void* BareDevice::stream() const noexcept { return state_->stream; }

void BareDevice::synchronize() {
  GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
}

void BareDevice::launch(const Rig& rig, std::size_t task, std::int64_t elems) {
  AddArguments args(rig, task, elems);
  GPUOS_CUDA_CHECK(driver().cuLaunchKernel(state_->add, args.blocks(), 1, 1,
                                           kThreads, 1, 1, 0, state_->stream,
                                           args.pointers, nullptr));
}

std::vector<double> BareDevice::launch_ns(const Rig& rig, std::size_t tasks,
                                          std::int64_t elems, int reps) {
  return repeat(reps, [&] {
    const auto start = Clock::now();
    for (std::size_t i = 0; i < tasks; ++i) launch(rig, i, elems);
    state_->await();
    return 1e3 * us_since(start) / static_cast<double>(tasks);
  });
}

std::vector<double> BareDevice::round_trip_us(const Rig& rig,
                                              std::int64_t elems, int reps) {
  return each_us(reps, 1, [&](std::size_t task) {
    launch(rig, task, elems);
    state_->await();
  });
}

std::vector<double> BareDevice::graph_ns(const Rig& rig, std::size_t tasks,
                                         std::int64_t elems, bool is_parallel,
                                         int replays, int reps) {
  State& s = *state_;
  if (is_parallel && driver().cuGraphAddKernelNode == nullptr)
    throw BackendUnavailable("graph_ns: expected a driver of CUDA 12 or newer");
  cu::CUgraph graph = nullptr;
  GPUOS_CUDA_CHECK(driver().cuStreamBeginCapture(
      s.stream, cu::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  if (!is_parallel)
    for (std::size_t i = 0; i < tasks; ++i) launch(rig, i, elems);
  GPUOS_CUDA_CHECK(driver().cuStreamEndCapture(s.stream, &graph));
  for (std::size_t i = 0; is_parallel && i < tasks; ++i) {
    AddArguments args(rig, i, elems);
    cu::CUDA_KERNEL_NODE_PARAMS node_params{};
    node_params.func = s.add;
    node_params.gridDimX = args.blocks();
    node_params.blockDimX = kThreads;
    node_params.gridDimY = node_params.gridDimZ = 1;
    node_params.blockDimY = node_params.blockDimZ = 1;
    node_params.kernelParams = args.pointers;
    cu::CUgraphNode node = nullptr;
    GPUOS_CUDA_CHECK(
        driver().cuGraphAddKernelNode(&node, graph, nullptr, 0, &node_params));
  }
  cu::CUgraphExec executable = nullptr;
  GPUOS_CUDA_CHECK(driver().cuGraphInstantiateWithFlags(&executable, graph, 0));
  const double all = static_cast<double>(tasks) * replays;
  auto times = repeat(reps, [&] {
    const auto start = Clock::now();
    for (int i = 0; i < replays; ++i)
      GPUOS_CUDA_CHECK(driver().cuGraphLaunch(executable, s.stream));
    s.await();
    return 1e3 * us_since(start) / all;
  });
  GPUOS_CUDA_CHECK(driver().cuGraphExecDestroy(executable));
  GPUOS_CUDA_CHECK(driver().cuGraphDestroy(graph));
  return times;
}

std::vector<double> BareDevice::copy_us(std::size_t bytes, int reps) {
  CUdeviceptr from = 0;
  CUdeviceptr to = 0;
  GPUOS_CUDA_CHECK(driver().cuMemAlloc(&from, bytes));
  GPUOS_CUDA_CHECK(driver().cuMemAlloc(&to, bytes));
  const auto piece = random_floats(std::size_t{1} << 20, 9);
  const std::size_t piece_bytes = piece.size() * sizeof(float);
  for (std::size_t at = 0; at + piece_bytes <= bytes; at += piece_bytes)
    GPUOS_CUDA_CHECK(
        driver().cuMemcpyHtoD(from + at, piece.data(), piece_bytes));
  auto times = repeat(reps, [&] {
    const auto start = Clock::now();
    GPUOS_CUDA_CHECK(
        driver().cuMemcpyDtoDAsync(to, from, bytes, state_->stream));
    state_->await();
    return us_since(start);
  });
  GPUOS_CUDA_CHECK(driver().cuMemFree(from));
  GPUOS_CUDA_CHECK(driver().cuMemFree(to));
  return times;
}

}  // namespace gpuos::bench
