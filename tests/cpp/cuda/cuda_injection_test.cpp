#include <algorithm>

#include "cuda_support.h"
#include "operator_support.h"

namespace gpuos::cu {
namespace {

class CudaInjection : public CudaResidencyTest {
 protected:
  static OperatorDefinition whole(const std::string& name,
                                  const std::string& body) {
    return {.name = name,
            .source = "GPUOS_OPERATOR(" + name + ") {\n" + body + "\n}",
            .dtypes = {DType::Int32},
            .inputs = 1,
            .elementwise = false};
  }
};

// Spills that fill the stack are slow but correct.
TEST_P(CudaInjection, SpillsThatFitRun) {
  start(GetParam());
  const Operator op = runtime().define(
      whole("spill",
            "if (lane.index() != 0) return;\n"
            "const volatile int* in = task.pointer<const volatile int>(1);\n"
            "volatile int* out = task.pointer<volatile int>(0);\n"
            "int v[128];\n"
            "#pragma unroll\n"
            "for (int i = 0; i < 128; ++i) v[i] = in[i];\n"
            "#pragma unroll\n"
            "for (int i = 0; i < 128; ++i) out[127 - i] = v[i];"));
  Ints values(128);
  for (int i = 0; i < 128; ++i) values[static_cast<std::size_t>(i)] = i;
  DeviceArray<std::int32_t> in(runtime(), values), out(runtime(), 128);
  runtime().submit(op, {in.view()}, out.view());
  EXPECT_EQ(out.read(), Ints(values.rbegin(), values.rend()));
}

TEST_P(CudaInjection, TheLanesOfOneWorkerMeetAtABarrier) {
  start(GetParam());
  const Operator op = runtime().define(
      whole("prefix",
            "volatile int* out = task.pointer<volatile int>(0);\n"
            "const int* in = task.pointer<const int>(1);\n"
            "if (lane.index() == 0) {\n"
            "  int sum = 0;\n"
            "  for (gpuos::u32 i = 0; i < task.count; ++i)\n"
            "    out[i] = sum += in[i];\n"
            "}\n"
            "lane.barrier();\n"
            "const int total = out[task.count - 1];\n"
            "lane.barrier();\n"
            "for (gpuos::u32 i = lane.index(); i < task.count; "
            "i += lane.count())\n"
            "  out[i] = total - out[i];"));
  constexpr int kCount = 20'000;  // one worker runs all of it
  Ints expected(kCount);
  for (int i = 0; i < kCount; ++i)
    expected[static_cast<std::size_t>(i)] = kCount - 1 - i;
  DeviceArray<std::int32_t> in(runtime(), kCount, 1);
  for (int round = 0; round < 5; ++round) {
    DeviceArray<std::int32_t> out(runtime(), kCount);
    runtime().submit(op, {in.view()}, out.view());
    ASSERT_EQ(out.read(), expected);
  }
}

GPUOS_FOR_EACH_RESIDENCY(CudaInjection);

}  // namespace
}  // namespace gpuos::cu
