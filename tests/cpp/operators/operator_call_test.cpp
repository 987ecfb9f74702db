#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "base/concat.h"
#include "driver/check.h"
#include "driver/driver_api.h"
#include "jit/linker.h"
#include "jit/nvrtc_api.h"
#include "jit/operator_compiler.h"

namespace gpuos::cu {
namespace {

// A kernel of another image than the operators, with registers for them: the
// link gives it what the address-taken function needs.
constexpr std::string_view kCaller = R"(#include "gpuos/operator.h"
extern "C" __global__ void call_operator(gpuos::OpFn op,
                                         const gpuos::u64* args,
                                         gpuos::u32 count) {
  op(gpuos::Task{args, nullptr, count}, gpuos::Lane::of(0, 1));
}
extern "C" __device__ void take_registers(gpuos::Task task, gpuos::Lane) {
  volatile float* p = task.pointer<volatile float>(0);
  float live[64];
#pragma unroll
  for (int i = 0; i < 64; ++i) live[i] = p[i];
#pragma unroll
  for (int i = 0; i < 64; ++i) p[64 - i] = live[i];
}
extern "C" {
__device__ gpuos::OpFn taken = take_registers;
}
)";

int attribute(CUdevice device, CUdevice_attribute which) {
  int value = 0;
  GPUOS_CUDA_CHECK(driver().cuDeviceGetAttribute(&value, which, device));
  return value;
}

class OperatorCall : public testing::Test {
 protected:
  static constexpr int kCount = 256;

  void SetUp() override {
    int devices = 0;
    const DriverApi* api = try_driver();
    if (api == nullptr || api->cuInit(0) != CUDA_SUCCESS ||
        api->cuDeviceGetCount(&devices) != CUDA_SUCCESS || devices == 0) {
      if (std::getenv("GPUOS_TEST_CUDA") != nullptr) FAIL() << "no GPU";
      GTEST_SKIP() << "no GPU";
    }
    CUdevice device = 0;
    GPUOS_CUDA_CHECK(api->cuDeviceGet(&device, 0));
    CUcontext context = nullptr;
    GPUOS_CUDA_CHECK(api->cuDevicePrimaryCtxRetain(&context, device));
    GPUOS_CUDA_CHECK(api->cuCtxSetCurrent(context));
    compute_capability_ =
        10 * attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
        attribute(device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    load_caller();
    GPUOS_CUDA_CHECK(api->cuMemAlloc(&data_, kCount * sizeof(double)));
    GPUOS_CUDA_CHECK(api->cuMemAlloc(&args_, 2 * sizeof(std::uint64_t)));
  }

  void load_caller() {
    const jit::Nvrtc& nvrtc = jit::nvrtc();
    const jit::Target target =
        jit::choose_target(nvrtc, compute_capability_, "");
    const std::array objects{
        jit::compile_unit(nvrtc,
                          {.source = kCaller,
                           .file_name = "caller.cu",
                           .options = {.max_registers = 64}},
                          target)};
    const std::string cubin = jit::link_objects(nvrtc, objects, target, 64);
    CUmodule module = nullptr;
    GPUOS_CUDA_CHECK(driver().cuModuleLoadData(&module, cubin.data()));
    GPUOS_CUDA_CHECK(
        driver().cuModuleGetFunction(&caller_, module, "call_operator"));
    int registers = 0;
    GPUOS_CUDA_CHECK(driver().cuFuncGetAttribute(
        &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, caller_));
    std::size_t stack = 0;
    GPUOS_CUDA_CHECK(driver().cuCtxGetLimit(&stack, CU_LIMIT_STACK_SIZE));
    budget_ = {.registers = static_cast<std::uint32_t>(registers),
               .stack_bytes = static_cast<std::uint32_t>(stack)};
    EXPECT_EQ(registers, 64);
  }

  // Runs `body` as an operator over `data`; args[1] is the scalar 2.5f.
  std::vector<double> run(const std::string& name, const std::string& before,
                          const std::string& body, std::vector<double> data) {
    const jit::Image image = jit::compile_operators(
        {.source = concat(
             "#include \"gpuos/operator.h\"\n", before, "GPUOS_OPERATOR(", name,
             ") {\n  double* o = task.pointer<double>(0);\n"
             "  for (gpuos::u32 i = lane.index(); i < task.count; i += "
             "lane.count()) {\n",
             body, "\n  }\n}\n"),
         .file_name = name + ".cu",
         .entries = {name},
         .compute_capability = compute_capability_,
         .budget = budget_});
    CUmodule module = nullptr;
    GPUOS_CUDA_CHECK(driver().cuModuleLoadData(&module, image.binary.data()));
    CUdeviceptr entry = 0;
    std::size_t bytes = 0;
    GPUOS_CUDA_CHECK(driver().cuModuleGetGlobal(&entry, &bytes, module,
                                                image.entries[0].c_str()));
    std::uint64_t op = 0;
    GPUOS_CUDA_CHECK(driver().cuMemcpyDtoH(&op, entry, sizeof(op)));

    const float scalar = 2.5f;
    std::array<std::uint64_t, 2> args{data_, 0};
    std::memcpy(&args[1], &scalar, sizeof(scalar));
    GPUOS_CUDA_CHECK(driver().cuMemcpyHtoD(args_, args.data(), sizeof(args)));
    GPUOS_CUDA_CHECK(driver().cuMemcpyHtoD(data_, data.data(),
                                           data.size() * sizeof(double)));
    auto count = static_cast<std::uint32_t>(data.size());
    void* parameters[] = {&op, &args_, &count};
    GPUOS_CUDA_CHECK(driver().cuLaunchKernel(caller_, 1, 1, 1, 128, 1, 1, 0,
                                             nullptr, parameters, nullptr));
    GPUOS_CUDA_CHECK(driver().cuCtxSynchronize());
    GPUOS_CUDA_CHECK(driver().cuMemcpyDtoH(data.data(), data_,
                                           data.size() * sizeof(double)));
    GPUOS_CUDA_CHECK(driver().cuModuleUnload(module));
    return data;
  }

  void expect(const std::vector<double>& got,
              const std::function<double(int)>& wanted) {
    for (int i = 0; i < kCount; ++i)
      ASSERT_NEAR(got[i], wanted(i), 1e-12 * (1 + std::fabs(wanted(i)))) << i;
  }

  static std::vector<double> ramp() {
    std::vector<double> data(kCount);
    for (int i = 0; i < kCount; ++i) data[i] = 0.25 + 0.01 * i;
    return data;
  }

  int compute_capability_ = 0;
  CUfunction caller_ = nullptr;
  jit::Budget budget_;
  CUdeviceptr data_ = 0;
  CUdeviceptr args_ = 0;
};

TEST_F(OperatorCall, FunctionsThatAnOperatorCallsAreThere) {
  const auto got =
      run("callee",
          "__device__ __noinline__ double shift(double x) { return x / 3; }\n",
          "o[i] = shift(o[i]) / (1 + i) + (100000000007LL + i) / (3LL + i);",
          ramp());
  const auto in = ramp();
  expect(got, [&](int i) {
    return in[i] / 3 / (1 + i) +
           static_cast<double>((100000000007LL + i) / (3LL + i));
  });
}

TEST_F(OperatorCall, SwitchesAndDoubleConstantsAreTheOperatorsOwn) {
  const auto got = run("cases", "",
                       "switch (i % 6) {\n"
                       "  case 0: o[i] = sin(o[i]); break;\n"
                       "  case 1: o[i] = exp(o[i]) * 3.14159265358979; break;\n"
                       "  case 2: o[i] = cbrt(o[i]); break;\n"
                       "  case 3: o[i] = tanh(o[i]); break;\n"
                       "  case 4: o[i] = o[i] * 1.7; break;\n"
                       "  case 5: o[i] = log(o[i]); break;\n"
                       "}",
                       ramp());
  const auto in = ramp();
  expect(got, [&](int i) {
    switch (i % 6) {
      case 0:
        return std::sin(in[i]);
      case 1:
        return std::exp(in[i]) * 3.14159265358979;
      case 2:
        return std::cbrt(in[i]);
      case 3:
        return std::tanh(in[i]);
      case 4:
        return in[i] * 1.7;
      default:
        return std::log(in[i]);
    }
  });
}

TEST_F(OperatorCall, ScalarsTablesAndStackAreTheOperatorsOwn) {
  const auto got = run("table",
                       "static __device__ const double table[5] = {1, 2, 4, 8, "
                       "16};\n",
                       "volatile double v[40];\n"
                       "for (int k = 0; k < 40; ++k) v[k] = o[i] + k;\n"
                       "o[i] = v[i % 40] * task.scalar<float>(1) + "
                       "table[i % 5];",
                       ramp());
  const auto in = ramp();
  expect(got,
         [&](int i) { return (in[i] + i % 40) * 2.5 + std::pow(2.0, i % 5); });
}

}  // namespace
}  // namespace gpuos::cu
