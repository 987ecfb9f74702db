#include "jit/objects/elf_resources.h"

#include <gtest/gtest.h>

#include <array>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/linker.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/unit_compiler.h"

namespace gpuos::jit {
namespace {

// The sources have kernels, because ptxas reports the needs of a kernel.
constexpr std::string_view kSource = R"(
extern "C" __device__ __noinline__ float pick(float x, int n) {
  volatile float v[32];
  for (int i = 0; i < 32; ++i) v[i] = x * i;
  return v[n % 32];
}
extern "C" __global__ void plain(float* o) { o[threadIdx.x] *= 2; }
extern "C" __global__ void calls(float* o) {
  o[0] = pick(o[1], threadIdx.x) + o[2];
}
extern "C" __global__ void shares(double* o) {
  __shared__ double s[48];
  s[threadIdx.x] = exp(o[threadIdx.x]);
  __syncthreads();
  o[threadIdx.x] = s[47 - threadIdx.x];
}
__constant__ float table[8];
extern "C" __global__ void looks_up(float* o) { o[0] = table[threadIdx.x]; }
)";

class ElfResources : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    try {
      api_ = &nvrtc();
    } catch (const BackendUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
    if (GetParam() > api_->archs.back())
      GTEST_SKIP() << "NVRTC is older than sm_" << GetParam();
    const Target target = choose_target(*api_, GetParam(), "");
    const std::array objects{compile_unit(
        *api_, {.source = kSource, .file_name = "fixture.cu"}, target)};
    cubin_ = link_objects(*api_, objects, target, 0);
  }

  const Nvrtc* api_ = nullptr;
  std::string cubin_;
};

TEST_P(ElfResources, PlainKernelNeedsOnlyRegisters) {
  const Resources needs = read_resources(cubin_, "plain");
  EXPECT_GE(needs.registers, 4u);
  EXPECT_LE(needs.registers, 24u);
  EXPECT_EQ(needs.stack_bytes, 0u);
  EXPECT_EQ(needs.shared_bytes, 0u);
  EXPECT_FALSE(needs.uses_shared);
  EXPECT_EQ(needs.barriers, 0u);
}

TEST_P(ElfResources, StackOfACalleeIsPartOfTheCaller) {
  const Resources callee = read_resources(cubin_, "pick");
  const Resources caller = read_resources(cubin_, "calls");
  EXPECT_GE(callee.stack_bytes, 128u);
  EXPECT_GE(caller.stack_bytes, callee.stack_bytes);
  EXPECT_GE(caller.registers, callee.registers);
}

TEST_P(ElfResources, SharedMemoryIsWhatTheSourceDeclares) {
  const Resources needs = read_resources(cubin_, "shares");
  EXPECT_EQ(needs.shared_bytes, 48u * 8u);
  EXPECT_TRUE(needs.uses_shared);
  EXPECT_EQ(needs.barriers, 1u);
}

TEST_P(ElfResources, ConstantVariablesAreCounted) {
  EXPECT_EQ(read_resources(cubin_, "looks_up").constant_bytes, 32u);
}

TEST_P(ElfResources, UnknownFunctionIsAnError) {
  EXPECT_THROW(read_resources(cubin_, "nothing"), CompileError);
  EXPECT_FALSE(has_symbol(cubin_, "nothing"));
  EXPECT_TRUE(has_symbol(cubin_, "pick"));
}

TEST_P(ElfResources, TruncatedImageIsAnError) {
  const Resources whole = read_resources(cubin_, "calls");
  std::size_t accepted = 0;
  for (std::size_t bytes = 0; bytes < cubin_.size(); bytes += 97) {
    try {
      // Only bytes after the last section may be missing.
      const Resources needs =
          read_resources(std::string_view(cubin_).substr(0, bytes), "calls");
      EXPECT_EQ(needs.stack_bytes, whole.stack_bytes) << bytes;
      EXPECT_EQ(needs.registers, whole.registers) << bytes;
      ++accepted;
    } catch (const CompileError&) {
    }
  }
  EXPECT_LT(accepted, 8u);
}

TEST_P(ElfResources, DamagedImageDoesNotCrash) {
  for (std::size_t at = 0; at < cubin_.size(); at += 13) {
    std::string damaged = cubin_;
    damaged[at] = static_cast<char>(~damaged[at]);
    try {
      read_resources(damaged, "calls");
    } catch (const CompileError&) {
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ElfResources, testing::Values(80, 90, 120),
                         [](const auto& device) {
                           return concat("sm_", device.param);
                         });

TEST(ElfReader, RefusesOtherFilesThanCubins) {
  EXPECT_THROW(read_resources("", "f"), CompileError);
  EXPECT_THROW(read_resources(std::string(4096, 'x'), "f"), CompileError);
}

}  // namespace
}  // namespace gpuos::jit
