// NVRTC reads the headers of CUDA and CCCL that this machine has.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/concat.h"
#include "jit/headers/cuda_headers.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"

namespace gpuos::jit {
namespace {

using Texts = std::vector<std::string>;

class RealHeaders : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  static void compile(const std::string& header, const Texts& dirs) {
    compile_text(concat("#include <", header, ">\n"), dirs);
  }

  static void compile_text(const std::string& source, const Texts& dirs) {
    EXPECT_NO_THROW(
        compile_unit(nvrtc(),
                     {.source = source,
                      .file_name = "real.cu",
                      .headers = {{"cub/cub.cuh", std::string(kCubHeader)}},
                      .include_dirs = dirs},
                     choose_target(nvrtc(), 90, "")))
        << source;
  }
};

// Each algorithm that is asked for most, and the standard headers of gpuos in
// front of CCCL's own.
constexpr std::string_view kCub =
    "#include <cmath>\n#include <cstdint>\n#include <limits>\n"
    "#include <type_traits>\n#include <cub/cub.cuh>\n"
    "#include <cuda/std/cmath>\n#include <cuda/std/limits>\n"
    R"(
__global__ void k(int* x) {
  using Reduce = cub::BlockReduce<int, 128>;
  using Scan = cub::BlockScan<int, 128>;
  using Sort = cub::BlockRadixSort<int, 128, 1>;
  __shared__ union {
    typename Reduce::TempStorage reduce;
    typename Scan::TempStorage scan;
    typename Sort::TempStorage sort;
  } shared;
  int value[1] = {x[threadIdx.x]};
  Scan(shared.scan).InclusiveSum(value[0], value[0]);
  __syncthreads();
  Sort(shared.sort).Sort(value);
  __syncthreads();
  value[0] += Reduce(shared.reduce).Sum(value[0]);
  x[threadIdx.x] = value[0];
}
)";

TEST_F(RealHeaders, Compile) {
  const Texts dirs = cuda_include_dirs(nvrtc());
  const FoundHeader found = find_cuda_headers(dirs);
  if (found.folder.empty()) GTEST_SKIP() << "no headers";
  if (!found.version.starts_with(concat(nvrtc().major, ".")))
    GTEST_SKIP() << "headers of CUDA " << found.version;
  for (const char* header : {"cuda_fp16.h", "cuda_bf16.h"})
    compile(header, dirs);
  if (find_cccl_headers(dirs).folder.empty()) GTEST_SKIP() << "no CCCL";
  for (const char* header :
       {"cuda/std/limits", "cuda/std/cstdint", "cooperative_groups.h"})
    compile(header, dirs);
  compile_text(std::string(kCub), dirs);
}

TEST_F(RealHeaders, BundledOnesCompile) {
  const BundledHeaders bundled = unpack_bundled_headers(nvrtc());
  if (!bundled.is_available) GTEST_SKIP() << "NVRTC brings none";
  ASSERT_TRUE(bundled.is_unpacked) << bundled.problem;
  const Texts dirs{bundled.folder, bundled.folder + "/cccl"};
  for (const char* header : {"cuda_fp16.h", "cuda/std/limits"})
    compile(header, dirs);
  compile_text(std::string(kCub), dirs);
}

TEST_F(RealHeaders, OursAgreeWithThem) {
  const Texts dirs = cuda_include_dirs(nvrtc());
  if (find_cccl_headers(dirs).folder.empty()) GTEST_SKIP() << "no CCCL";
  for (const char* first : {"gpuos/integers.h", "cuda/std/cstdint"}) {
    const std::string source =
        concat("#include <", first,
               ">\n#include <cuda/std/cstdint>\n#include <gpuos/integers.h>\n"
               "#include <gpuos/half.h>\n#include <cuda_fp16.h>\n");
    EXPECT_NO_THROW(compile_unit(
        nvrtc(),
        {.source = source, .file_name = "ours.cu", .include_dirs = dirs},
        choose_target(nvrtc(), 90, "")));
  }
}

}  // namespace
}  // namespace gpuos::jit
