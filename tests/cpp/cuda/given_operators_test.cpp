#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "given_support.h"
#include "jit/compile_pool.h"
#include "jit/objects/elf_resources.h"
#include "nvrtc_support.h"

namespace gpuos::cu {
namespace {

// The operators of tests/objects/functions.c.
std::vector<OperatorDefinition> operators() {
  return {
      {.name = "axpy", .params = {{"alpha"}}, .inputs = 2},
      {.name = "cube", .dtypes = {DType::Float64}, .inputs = 1},
      {.name = "steps", .dtypes = {DType::Int64}, .inputs = 1},
      {.name = "wrapped", .dtypes = {DType::UInt8}, .inputs = 2},
      {.name = "lowered",
       .params = {{"by", DType::Int8}},
       .dtypes = {DType::Int16},
       .inputs = 1},
      {.name = "differ", .dtypes = {DType::Bool}, .inputs = 2},
      {.name = "backwards",
       .params = {{"factor"}},
       .inputs = 1,
       .elementwise = false},
  };
}

// The same functions for NVRTC, which has no <stdint.h> here.
std::string as_cuda() {
  std::string text = stored_object("functions.c");
  text.erase(0, text.find('\n', text.find("#include")));
  // A function begins after an empty line.
  constexpr std::string_view kEmpty = "\n\n";
  for (std::size_t at = text.find(kEmpty); at != text.npos;
       at = text.find(kEmpty, at + kEmpty.size()))
    text.insert(at + kEmpty.size(), "__device__ ");
  return concat(
      "typedef signed char int8_t;\ntypedef unsigned char uint8_t;\n"
      "typedef short int16_t;\ntypedef long long int64_t;\n"
      "typedef bool _Bool;\nextern \"C\" {\n",
      text, "}\n");
}

class GivenOperators : public testing::Test {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  static std::vector<int> devices() {
    std::vector<int> found;
    for (const int each : {80, 90, 120})
      if (std::ranges::count(jit::nvrtc().archs, each) != 0)
        found.push_back(each);
    return found;
  }

  static void expect_whole(const jit::Image& image, const std::string& name) {
    EXPECT_TRUE(jit::has_symbol(image.binary, concat("gpuos_entry_", name)));
    EXPECT_LE(image.needs.registers, jit::kWorkerRegisters);
    // Nothing is left for the driver to find.
    EXPECT_FALSE(jit::needs_symbol(image.binary, name));
  }
};

TEST_F(GivenOperators, TextsOfThreeCompilersAreLinked) {
  for (const char* compiler : {"clang", "numba", "rust"}) {
    const std::string text =
        stored_object(concat("functions.", compiler, ".ptx"));
    ASSERT_FALSE(text.empty()) << compiler;
    for (OperatorDefinition each : operators()) {
      if (text.find(concat(" ", each.name, "(")) == text.npos) {
        EXPECT_STREQ(compiler, "rust") << each.name;
        continue;
      }
      SCOPED_TRACE(concat(compiler, " ", each.name));
      each.object = DeviceObject{Kind::Ptx, text, ""};
      for (const int device : devices()) {
        const jit::Image image = built(each, device);
        expect_whole(image, each.name);
        EXPECT_TRUE(jit::has_symbol(image.binary, each.name));
      }
    }
  }
}

TEST_F(GivenOperators, EveryKindIsLinkedForEveryDevice) {
  for (const Kind kind : kKinds) {
    for (const int device : devices()) {
      const std::string object =
          made_object(kind, as_cuda(), device, jit::kWorkerRegisters);
      for (OperatorDefinition each : operators()) {
        SCOPED_TRACE(concat(name_of(kind), " ", each.name, " ", device));
        each.object = DeviceObject{kind, object, ""};
        const jit::Image image = built(each, device);
        expect_whole(image, each.name);
        // LTO-IR becomes a part of the loop.
        EXPECT_EQ(jit::has_symbol(image.binary, each.name),
                  kind != Kind::LtoIr);
      }
    }
  }
}

TEST_F(GivenOperators, OlderObjectsOfAGenerationAreLinked) {
  if (std::ranges::count(jit::nvrtc().archs, 86) == 0) GTEST_SKIP();
  for (const Kind kind : kKinds)
    EXPECT_EQ(refusal(axpy_of(kind, made_object(kind, as_cuda(), 80)), 86),
              "built")
        << name_of(kind);
}

TEST_F(GivenOperators, EveryDtypeHasAFunctionOfC) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (is_complex(dtype)) continue;
    const std::string type(is_short_float(dtype) ? "float"
                                                 : cpp_name_of(dtype));
    const std::string source =
        concat("extern \"C\" __device__ ", type, " pick(", type, " x, ", type,
               " y, ", type, " p) { return x < y ? x : p; }");
    for (const Kind kind : kKinds) {
      const OperatorDefinition pick{
          .name = "pick",
          .object = DeviceObject{kind, made_object(kind, source, 80), ""},
          .params = {{"p", dtype}},
          .dtypes = {dtype},
          .inputs = 2};
      EXPECT_EQ(refusal(pick, 80), "built")
          << name_of(dtype) << " " << name_of(kind);
    }
  }
}

// A linker would not say that there are two of one name.
TEST_F(GivenOperators, HelpersOfOneNameDoNotClash) {
  const auto definition = [](std::size_t number) {
    const std::string source = concat(
        "extern \"C\" __device__ __noinline__ float helper(float x) { return ",
        number,
        " * x; }\nextern \"C\" __device__ float f(float x) { return "
        "helper(x); }\n");
    OperatorDefinition made{
        .name = concat("given_", number),
        .object =
            DeviceObject{Kind::Ptx, made_object(Kind::Ptx, source, 80), "f"},
        .inputs = 1};
    complete_object(made, traits_of("cuda"));
    return made;
  };
  std::vector<OperatorDefinition> definitions;
  // Each thread then compiles three, a source between two objects.
  for (std::size_t i = 0; i < 3 * jit::compile_threads(); ++i) {
    const std::string name = concat("plain_", i);
    definitions.push_back(
        i % 3 != 1 ? definition(i)
                   : OperatorDefinition{
                         .name = name,
                         .source = concat("GPUOS_OPERATOR(", name,
                                          ") { *task.pointer<float>(0) = 1; }"),
                         .inputs = 0});
  }
  std::vector<OperatorBuild> builds;
  for (const OperatorDefinition& each : definitions)
    builds.push_back({each, static_cast<std::uint32_t>(builds.size())});
  std::set<std::uint32_t> found;
  for (const OperatorImage& image :
       build_images(builds, 90, {.registers = 64, .stack_bytes = 1024})) {
    ASSERT_EQ(image.slots.size(), image.image.entries.size());
    for (std::size_t i = 0; i < image.slots.size(); ++i) {
      const OperatorDefinition& built = definitions[image.slots[i]];
      EXPECT_EQ(image.image.entries[i], concat("gpuos_entry_", built.name));
      EXPECT_TRUE(image.slots.size() == 1 || !built.object) << built.name;
      found.insert(image.slots[i]);
    }
  }
  EXPECT_EQ(found.size(), definitions.size());
}

// No image comes from memory or from the disk.
TEST_F(GivenOperators, AnotherObjectIsAnotherImage) {
  for (const Kind kind : kKinds) {
    const auto image = [&](int number) {
      const std::string source = concat(
          "extern \"C\" __device__ float axpy(float x, float y, float a)"
          "{ return a * x + ",
          number, " * y; }");
      return built(axpy_of(kind, made_object(kind, source, 90))).binary;
    };
    EXPECT_NE(image(2), image(3)) << name_of(kind);
    EXPECT_EQ(image(2), image(2)) << name_of(kind);
  }
}

}  // namespace
}  // namespace gpuos::cu
