// Properties of the compiled worker: registers, spilled memory, bytes of code.
// A change that makes it larger fails here, without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/concat.h"
#include "base/embedded.h"
#include "jit/objects/cubin.h"
#include "jit/objects/image.h"
#include "jit/operator_compiler.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"

namespace gpuos {
namespace {

/// Counts for sm_90 with this NVRTC. Each release has other numbers. If a
/// change justifies more, write down the new ones and give the reason in the
/// commit.
constexpr int kMajor = 13;
constexpr int kMinor = 5;

struct Size {
  std::uint64_t code = 0;    // bytes of SASS
  std::uint64_t frames = 0;  // bytes of all functions' stacks: what is spilled
  std::uint64_t registers = 0;  // of the function with the most
};
const std::map<std::string, Size> kWorker = {
    {"builtin operators", {65'280, 368, 64}},
    {"functions of programs", {607'744, 1'472, 62}},
    {"interpreter of programs", {429'184, 5'080, 64}},
    {"worker", {114'944, 272, 64}},
};
const std::map<std::string, std::uint64_t> kPtxBytes = {
    {"builtin_operators.cu", 76'196},
    {"program_functions.cu", 1'759'880},
    {"program_interpreter.cu", 927'252},
    {"worker.cu", 205'384},
};

std::string part_of(std::string_view function) {
  const auto has = [&](std::string_view text) {
    return function.find(text) != function.npos;
  };
  if (function.starts_with("gpuos_op_")) return "builtin operators";
  if (has("7program4call") || has("7program9call_") || has("__internal_"))
    return "functions of programs";
  return has("7program") ? "interpreter of programs" : "worker";
}

std::map<std::string, Size> parts_of(std::string_view image) {
  constexpr std::uint8_t kFrameSize = 0x11;
  constexpr std::uint8_t kRegisterCount = 0x2f;
  constexpr std::string_view kCode = ".text.";
  const jit::Cubin cubin(image);
  std::map<std::string, Size> parts;
  for (const jit::Section& section : cubin.sections())
    if (section.name.starts_with(kCode))
      parts[part_of(section.name.substr(kCode.size()))].code += section.size;
  for (const jit::Attribute& attribute : cubin.attributes(".nv.info")) {
    if (attribute.words.size() < 2) continue;
    Size& size = parts[part_of(cubin.symbols()[attribute.words[0]].name)];
    if (attribute.id == kFrameSize) size.frames += attribute.words[1];
    if (attribute.id == kRegisterCount)
      size.registers =
          std::max<std::uint64_t>(size.registers, attribute.words[1]);
  }
  return parts;
}

/// 3 % more, or less: then the number is out of date.
void expect_near(std::uint64_t got, std::uint64_t counted,
                 const std::string& what) {
  EXPECT_LE(100 * got, 103 * counted) << what << ": " << got;
  EXPECT_GE(100 * got, 90 * counted) << what << ": " << got;
}

class WorkerCode : public testing::Test {
 protected:
  void SetUp() override {
    GPUOS_SKIP_WITHOUT_NVRTC();
    const jit::Nvrtc& api = jit::nvrtc();
    if (api.major != kMajor || api.minor != kMinor)
      GTEST_SKIP() << "counted with NVRTC " << kMajor << "." << kMinor
                   << ", here is " << api.major << "." << api.minor;
  }
};

TEST_F(WorkerCode, TakesNoMoreThanWasCounted) {
  const auto parts = parts_of(jit::compile_worker(90));
  EXPECT_EQ(parts.size(), kWorker.size());
  for (const auto& [part, counted] : kWorker) {
    const auto found = parts.find(part);
    ASSERT_NE(found, parts.end()) << part;
    const Size& size = found->second;
    expect_near(size.code, counted.code, part + ", code");
    expect_near(size.frames, counted.frames, part + ", stacks");
    EXPECT_LE(size.registers, counted.registers) << part;
    EXPECT_LE(size.registers, jit::kWorkerRegisters) << part;
  }
}

TEST_F(WorkerCode, IsNoLongerPtxThanWasCounted) {
  const jit::Nvrtc& api = jit::nvrtc();
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".cu")) continue;
    const std::string name(file.name);
    const jit::Object unit =
        jit::compile_unit(api,
                          {.source = file.text,
                           .file_name = name,
                           .options = {.max_registers = jit::kWorkerRegisters}},
                          jit::choose_target(api, 90, "compute_90"));
    ASSERT_TRUE(kPtxBytes.contains(name)) << name;
    expect_near(unit.binary.size(), kPtxBytes.at(name), name);
  }
}

}  // namespace
}  // namespace gpuos
