// Compiles all sources that gpuos gives to NVRTC, for each GPU that the found
// NVRTC supports. No GPU is needed. docs/toolkits.md has the results, and
// scripts/test runs this once for each toolkit.
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <fstream>
#include <future>
#include <map>
#include <string>
#include <vector>

#include "base/concat.h"
#include "base/embedded.h"
#include "compile_request.h"
#include "cuda/worker_image.h"
#include "errors.h"
#include "gpuos/gpuos.h"
#include "jit/linker.h"
#include "jit/objects/cubin.h"
#include "jit/objects/elf_resources.h"
#include "jit/toolkit/nvjitlink_api.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "nvrtc_support.h"
#include "operators/operator_definition.h"
#include "program/passes/source.h"
#include "program_support.h"

namespace gpuos {
namespace {

// An earlier run must not have cached the code that is compiled here.
[[maybe_unused]] const int kCacheOff = setenv("GPUOS_CACHE_DIR", "off", 1);

/// Returns all supported architectures, or one of each kind that device code
/// distinguishes, because each takes ten seconds of CPU time.
std::vector<int> archs() {
  std::vector<int> known;
  for (const int arch : jit::nvrtc().archs)
    if (arch >= jit::kOldestDevice) known.push_back(arch);
  if (std::getenv("GPUOS_TEST_EVERY_GPU") != nullptr) return known;
  return {known.front(), known.back()};
}

void expect_operator(const std::string& cubin, int arch) {
  EXPECT_EQ(jit::Cubin(cubin).architecture(), static_cast<unsigned>(arch));
}

class Toolkit : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  static jit::CompileRequest request_for(const std::string& name,
                                         const std::string& source, int arch) {
    jit::CompileRequest request = jit::request_for(name, source, arch);
    request.budget.stack_bytes = 768;
    return request;
  }
  /// Compiles and links in both ways: for a GPU that NVRTC knows, and for a
  /// newer one.
  static void expect_compiles(const jit::CompileRequest& request, int arch) {
    ASSERT_NO_THROW(
        expect_operator(jit::compile_operators(request).binary, arch));
    const jit::Nvrtc& api = jit::nvrtc();
    jit::Target target =
        jit::choose_target(api, arch, concat("compute_", arch));
    std::vector<jit::Object> objects;
    ASSERT_NO_THROW(objects.push_back(jit::compile_unit(
        api, {.source = request.source, .file_name = request.file_name},
        target)));
    objects.push_back(jit::compile_unit(
        api,
        {.source = "#include \"gpuos/operator.h\"\n"
                   "extern \"C\" __global__ void root(gpuos::OpFn op, "
                   "gpuos::Task task) { op(task, gpuos::Lane::of(0, 1)); }",
         .file_name = "root.cu"},
        target));
    ASSERT_NO_THROW(expect_operator(
        jit::link_objects(api, objects, target, jit::kWorkerRegisters), arch));
  }
};

// The cells of the table in docs/toolkits.md, by device.
std::map<int, std::vector<std::string>> rows_of_the_page() {
  std::ifstream page(concat(GPUOS_SOURCE_DIR, "/docs/toolkits.md"));
  std::map<int, std::vector<std::string>> rows;
  for (std::string line; std::getline(page, line);) {
    std::vector<std::string> cells;
    for (std::size_t at = 1, end = 0; (end = line.find(" |", at)) != line.npos;
         at = end + 2)
      cells.push_back(line.substr(at + 1, end - at - 1));
    if (cells.size() != 5 ||
        cells[0].find_first_not_of("0123456789.") != std::string::npos)
      continue;
    std::string device = cells[0];
    std::erase(device, '.');
    rows[std::stoi(device)] = cells;
  }
  return rows;
}

/// "12.8" is the first version that has it. "no" means that this major version
/// does not have it.
bool is_since(const std::string& cell, const jit::Nvrtc& api) {
  if (cell == "no") return false;
  const std::size_t dot = cell.find('.');
  EXPECT_EQ(std::stoi(cell), api.major) << cell;
  return std::stoi(cell.substr(dot + 1)) <= api.minor;
}

/// Returns the use of an nvcc build's image on a device: PTX is of the oldest.
std::string embedded_for(int device) {
  int oldest = 0;
  for (const std::string& name :
       cu::architectures_of(embedded_worker_image())) {
    const int arch = std::stoi(name.substr(name.find('_') + 1));
    oldest = oldest == 0 ? arch : std::min(oldest, arch);
    if (name.starts_with("sm_") && arch <= device && arch / 10 == device / 10)
      return concat("code of ", arch / 10, ".", arch % 10);
  }
  return device < oldest || embedded_worker_ptx().empty()
             ? "no"
             : concat("PTX of ", oldest / 10, ".", oldest % 10);
}

// Returns a program that reads each dtype and writes the short floats.
Program of_every_dtype() {
  ProgramBuilder builder;
  Value total = builder.literal(0.5);
  for (const DType dtype : kAllDTypes) {
    const Value x = builder.input(dtype, 1);
    const Value real =
        is_complex(dtype) ? ProgramBuilder::apply(Op::Absolute, {x}) : x;
    total = ProgramBuilder::apply(
        Op::Add, {total, ProgramBuilder::cast(real, DType::Float32)});
  }
  for (const DType dtype : kAllDTypes)
    if (is_short_float(dtype))
      builder.output(ProgramBuilder::cast(total, dtype));
  return builder.build();
}

std::map<std::string, std::string> headers_of_operators() {
  std::map<std::string, std::string> sources;
  for (const EmbeddedFile& file : embedded_files())
    if (file.name.ends_with(".h"))
      sources["headers"] += concat("#include \"gpuos/", file.name, "\"\n");
  return sources;
}

std::map<std::string, std::string> whole_operators() {
  std::string all;
  for (const auto& [name, text] : headers_of_operators()) all += text;
  for (const char* header : {"cstdint", "cmath", "limits", "cfloat", "climits",
                             "type_traits", "cassert", "cstddef"})
    all += concat("#include <", header, ">\n");
  return {
      {"plain",
       "GPUOS_OPERATOR(plain) {\n"
       "  for (gpuos::u32 i = lane.index(); i < task.count; i += "
       "lane.count())\n"
       "    task.pointer<float>(0)[i] = sinf(task.pointer<const "
       "float>(1)[i]);\n"
       "}\n"},
      {"headers", all + "GPUOS_OPERATOR(headers) {\n"
                        "  gpuos::Bf16* o = task.pointer<gpuos::Bf16>(0);\n"
                        "  const auto* x = task.pointer<gpuos::E4M3>(1);\n"
                        "  const auto* y = task.pointer<gpuos::E5M2>(2);\n"
                        "  const auto* z = task.pointer<gpuos::F16>(3);\n"
                        "  gpuos::u32 i = lane.index();\n"
                        "  if (i < task.count)\n"
                        "    o[i] = gpuos::Bf16(gpuos::fn::exp(float(x[i])) "
                        "+ float(y[i]) * std::sqrt(float(z[i])));\n"
                        "}\n"}};
}

// These are the first compilations of the process. If this NVRTC refuses an
// option, it does so for all threads at once.
TEST_F(Toolkit, CompilesInManyThreadsFromTheFirstTextOn) {
  constexpr int kThreads = 64;
  const jit::Target target =
      jit::choose_target(jit::nvrtc(), archs().back(), "");
  std::barrier all_there(kThreads);
  std::vector<std::future<void>> compiled;
  for (int i = 0; i < kThreads; ++i)
    compiled.push_back(std::async(std::launch::async, [&] {
      all_there.arrive_and_wait();
      jit::compile_unit(
          jit::nvrtc(),
          {.source = "__global__ void k() {}", .file_name = "k.cu"}, target);
    }));
  for (std::future<void>& one : compiled) EXPECT_NO_THROW(one.get());
}

TEST_F(Toolkit, CompilesTheWorker) {
  for (const int arch : archs()) {
    SCOPED_TRACE(arch);
    const cu::LoadableWorker worker =
        cu::make_worker_image(WorkerImage::Nvrtc, arch);
    EXPECT_EQ(worker.kind, "nvrtc");
    const std::string& image = worker.binary;
    expect_operator(image, arch);
    EXPECT_TRUE(jit::has_symbol(image, "gpuos_builtin_table"));
    const jit::Resources needs = jit::read_resources(image, "gpuos_worker");
    EXPECT_EQ(needs.registers, jit::kWorkerRegisters);
    // A context has this much for each thread. For more, the driver waits at
    // the first launch until the device is idle and no graph is captured.
    EXPECT_LE(needs.stack_bytes, 1024);
  }
}

// The reason is a missing feature of the device, not an omission of gpuos.
TEST_F(Toolkit, HasNothingForOlderDevices) {
  const int older = jit::nvrtc().archs.front();
  if (older >= jit::kOldestDevice)
    GTEST_SKIP() << "this NVRTC knows none, it begins at sm_" << older;
  const jit::Target target = jit::choose_target(jit::nvrtc(), older, "");
  for (const char* line :
       {"x = load_relaxed(&x);", "fence_gpu();", "store_relaxed(&x, 1);"}) {
    const std::string source = concat(
        "#include \"gpuos/memory.h\"\nusing namespace gpuos;\n"
        "__global__ void k(u32& x) { ",
        line, " }");
    try {
      jit::compile_unit(jit::nvrtc(), {.source = source, .file_name = "k.cu"},
                        target);
      ADD_FAILURE() << line;
    } catch (const CompileError& error) {
      EXPECT_TRUE(says(error.log(), "sm_70"));
    }
  }
}

TEST_F(Toolkit, CompilesWholeOperators) {
  for (const int arch : archs()) {
    SCOPED_TRACE(arch);
    for (const auto& [name, source] : whole_operators())
      expect_compiles(request_for(name, source, arch), arch);
  }
}

// The first code of define(tiered=True), with and without draft support.
TEST_F(Toolkit, CompilesDrafts) {
  for (const int arch : archs()) {
    jit::CompileRequest request =
        request_for("plain", whole_operators()["plain"], arch);
    request.is_draft = true;
    EXPECT_NO_THROW(
        expect_operator(jit::compile_operators(request).binary, arch));
  }
}

TEST_F(Toolkit, CompilesCheckedOperators) {
  OperatorDefinition definition;
  definition.name = "plain";
  definition.source = whole_operators()["plain"];
  definition.inputs = 1;
  definition.checked = true;
  const CheckedSource checked = checked_source(definition);
  for (const int arch : archs()) {
    SCOPED_TRACE(arch);
    expect_compiles(
        request_for("plain", concat(checked.prelude, checked.text), arch),
        arch);
  }
}

TEST_F(Toolkit, CompilesProgramsOfEachDType) {
  const Program program = of_every_dtype();
  for (const int arch : archs()) {
    SCOPED_TRACE(arch);
    for (const program::Pass& pass : program.plan()->fused.passes)
      expect_compiles(
          request_for(program::kCompiledName,
                      program::source_of(pass, program::Effort::Careful), arch),
          arch);
  }
}

TEST_F(Toolkit, KnowsTheToolkitsOfThePage) {
  const jit::Nvrtc& api = jit::nvrtc();
  ASSERT_TRUE(api.major == 12 || api.major == 13) << api.major;
  const auto rows = rows_of_the_page();
  for (const int arch : api.archs)
    EXPECT_TRUE(arch < jit::kOldestDevice || rows.contains(arch)) << arch;
  for (const auto& [device, cells] : rows)
    EXPECT_EQ(is_since(cells[api.major == 12 ? 1 : 2], api),
              std::ranges::find(api.archs, device) != api.archs.end())
        << device;
}

TEST_F(Toolkit, TheImageHasTheArchitecturesOfThePage) {
  const auto made_for = cu::architectures_of(embedded_worker_image());
  if (std::ranges::find(made_for, "sm_80") == made_for.end())
    GTEST_SKIP() << "no image, or not of the usual architectures";
  for (const auto& [device, cells] : rows_of_the_page())
    EXPECT_EQ(cells[3], embedded_for(device)) << device;
}

TEST_F(Toolkit, CompilesKernelsWithItsHeaders) {
  std::string source;
  for (const auto& [name, text] : headers_of_operators()) source += text;
  source +=
      "template <class T> __global__ void k(T* x) { x[threadIdx.x] = T(2.f); }";
  for (const int arch : archs()) {
    for (const char* kind : {"sm_", "compute_"}) {
      JitSource module{
          .source = source,
          .name_expressions = {"k<gpuos::Bf16>", "k<gpuos::F16>",
                               "k<gpuos::E4M3>", "k<gpuos::E5M2>"}};
      module.options.arch = concat(kind, arch);
      EXPECT_NO_THROW(JitModule(std::move(module))) << kind << arch;
    }
  }
}

}  // namespace
}  // namespace gpuos
