#include <gtest/gtest.h>
#include <algorithm>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "base/concat.h"
#include "base/embedded.h"
#include "device/bfloat16.h"
#include "device/half.h"
#include "device/integers.h"
#include "device/libm.h"
#include "device/vectors.h"
#include "errors.h"
#include "gpuos/error.h"
#include "host/host_compiler.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "nvrtc_support.h"

namespace gpuos {
namespace {

std::string_view text_of(std::string_view name) {
  for (const EmbeddedFile& file : embedded_files())
    if (file.name == name) return file.text;
  return "";
}

// Only the worker's own units include these: they define called functions.
bool is_of_worker(std::string_view name) {
  constexpr std::string_view kNames[] = {"burst.h",
                                         "chain.h",
                                         "interpreter/joins.h",
                                         "interpreter/lanes.h",
                                         "interpreter/array_memory.h",
                                         "interpreter/plain.h",
                                         "interpreter/inner_loop.h",
                                         "interpreter/resolve.h",
                                         "interpreter/run.h",
                                         "interpreter/steps.h",
                                         "inlined_members.h",
                                         "work.h"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

// std::true_type has a constant, which is a variable in the image.
bool has_constants(std::string_view name) {
  return name == "standard/types.h" || name == "standard/type_traits.h";
}

std::string all_headers() {
  std::string source;
  for (const EmbeddedFile& file : embedded_files())
    if (file.name.ends_with(".h") && !is_of_worker(file.name) &&
        !has_constants(file.name))
      source += concat("#include \"gpuos/", file.name, "\"\n");
  return source;
}

std::string arch_name(const testing::TestParamInfo<int>& info) {
  return concat("sm_", info.param);
}

class DeviceHeaders : public testing::TestWithParam<int> {
 protected:
  void SetUp() override { GPUOS_SKIP_WITHOUT_NVRTC(); }

  static std::string ptx_of(const std::string& source) {
    return compile(source, concat("compute_", GetParam()));
  }
  static std::string cubin_of(const std::string& source) {
    return compile(source, concat("sm_", GetParam()));
  }

 private:
  static std::string compile(const std::string& source,
                             const std::string& arch) {
    const jit::Nvrtc& api = jit::nvrtc();
    const jit::Object object =
        jit::compile_unit(api, {.source = source, .file_name = "header.cu"},
                          jit::choose_target(api, GetParam(), arch));
    EXPECT_EQ(object.log, "");
    return object.binary;
  }
};

TEST_P(DeviceHeaders, CompilesAlone) {
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".h")) continue;
    EXPECT_NO_THROW(ptx_of(concat("#include <gpuos/", file.name, ">\n")))
        << file.name;
  }
}

TEST_P(DeviceHeaders, CompilesTogetherAndIsNoDataInTheImage) {
  const std::string ptx = ptx_of(all_headers());
  EXPECT_FALSE(says(ptx, ".global"));
  EXPECT_FALSE(says(ptx, ".const"));
  EXPECT_FALSE(says(ptx, ".func"));
}

TEST_P(DeviceHeaders, NamesOfCstdintMayBeDeclaredAgain) {
  EXPECT_NO_THROW(
      ptx_of("#include \"gpuos/integers.h\"\n"
             "using int64_t = signed long long;\n"  // as cuda/std/cstdint does
             "using uint8_t = unsigned char;\n"
             "__device__ uint64_t f(size_t a, int8_t b) { return a + b; }\n"));
}

TEST_P(DeviceHeaders, AConversionIsAnInstruction) {
  const std::string source =
      "#include \"gpuos/half.h\"\n#include \"gpuos/bfloat16.h\"\n"
      "__device__ float f(gpuos::F16 x) { return x; }\n"
      "__device__ gpuos::F16 g(float x) { return gpuos::F16(x); }\n"
      "__device__ gpuos::Bf16 h(float x) { return gpuos::Bf16(x); }\n";
  EXPECT_NO_THROW(cubin_of(source));
  const std::string ptx = ptx_of(source);
  for (const char* part : {"cvt.f32.f16", "cvt.rn.f16.f32", "cvt.rn.bf16.f32"})
    EXPECT_TRUE(says(ptx, part));
}

TEST_P(DeviceHeaders, AVectorIsOneAccess) {
  const std::string ptx = ptx_of(
      "#include \"gpuos/vectors.h\"\n"
      "__device__ void f(float* to, const float* from) {\n"
      "  gpuos::store_vector(to, gpuos::load_vector<4>(from));\n"
      "}\n"
      "__device__ void g(gpuos::u16* to, const gpuos::u16* from) {\n"
      "  gpuos::store_vector(to, gpuos::load_vector<8>(from));\n"
      "}\n");
  std::size_t loads = 0;
  for (std::size_t at = ptx.find("ld.v"); at != ptx.npos;
       at = ptx.find("ld.v", at + 1))
    ++loads;
  EXPECT_EQ(loads, 2) << ptx;
  EXPECT_FALSE(says(ptx, "ld.u"));
}

INSTANTIATE_TEST_SUITE_P(Architectures, DeviceHeaders, testing::Values(80, 90),
                         arch_name);

TEST(DeviceHeaderSet, GoesWithTheStandardLibraryOfTheHost) {
  std::string headers;
  for (const char* name : {"integers", "number_limits", "short_floats",
                           "vectors", "libm", "map", "launch", "functions"})
    headers += concat("#include \"gpuos/", name, ".h\"\n");
  const std::string standard = "#include <cmath>\n#include <cstdint>\n";
  for (const std::string& includes : {standard + headers, headers + standard}) {
    try {
      host::compile_host_operator(
          {.source = concat(includes,
                            "GPUOS_OPERATOR(fill) {\n"
                            "  task.pointer<uint8_t>(0)[0] = std::uint8_t{1};\n"
                            "}\n"),
           .entry = "fill"});
    } catch (const BackendUnavailable& error) {
      GTEST_SKIP() << error.what();
    }
  }
}

// NVRTC's front end is nearly all of what a small operator costs to compile, 1
// ms for about 10 KiB of text, and each compilation is handed all headers.
TEST(DeviceHeaderSet, IsSmall) {
  std::size_t all = 0;
  std::size_t functions = 0;  // that only programs include
  std::size_t programs = 0;
  std::size_t checked = 0;   // that only checked operators include
  std::size_t standard = 0;  // that only who includes <limits> and so on does
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.name.ends_with(".h")) continue;
    const bool is_of_programs =
        file.name.starts_with("functions") || file.name == "complex.h";
    if (is_of_worker(file.name)) continue;
    const bool is_program = file.name.starts_with("compiled/") ||
                            file.name.starts_with("interpreter/") ||
                            file.name == "vocabulary.h" ||
                            file.name == "dtype_list.h";
    const bool is_checked = file.name.starts_with("checked") ||
                            file.name == "fault.h" || file.name == "asserts.h";
    const bool is_standard = file.name.starts_with("standard/");
    (is_program       ? programs
     : is_standard    ? standard
     : is_of_programs ? functions
     : is_checked     ? checked
                      : all) += file.text.size();
  }
  EXPECT_LE(all, 44u << 10);
  EXPECT_LE(functions, 40u << 10);
  EXPECT_LE(checked, 23u << 10);
  EXPECT_LE(standard, 28u << 10);
  // A compiled program includes half of it.
  EXPECT_LE(programs, 154u << 10);
  // Every operator includes these.
  EXPECT_LE(text_of("operator.h").size() + text_of("task_abi.h").size(),
            15u << 9);
}

template <typename T>
void expect_limits_of_integer() {
  using Wanted = std::numeric_limits<T>;
  EXPECT_EQ(Limits<T>::lowest(), Wanted::lowest());
  EXPECT_EQ(Limits<T>::highest(), Wanted::max());
  EXPECT_EQ(Limits<T>::digits(), Wanted::digits);
  EXPECT_EQ(Limits<T>::is_signed(), Wanted::is_signed);
  EXPECT_TRUE(Limits<T>::is_integer());
}

template <typename T>
void expect_limits_of_real() {
  using Wanted = std::numeric_limits<T>;
  EXPECT_EQ(Limits<T>::lowest(), Wanted::lowest());
  EXPECT_EQ(Limits<T>::highest(), Wanted::max());
  EXPECT_EQ(Limits<T>::digits(), Wanted::digits);
  EXPECT_EQ(Limits<T>::infinity(), Wanted::infinity());
  EXPECT_EQ(Limits<T>::smallest(), Wanted::min());
  EXPECT_EQ(Limits<T>::smallest_subnormal(), Wanted::denorm_min());
  EXPECT_EQ(Limits<T>::epsilon(), Wanted::epsilon());
  EXPECT_TRUE(is_nan(Limits<T>::nan()));
  EXPECT_FALSE(Limits<T>::is_integer());
}

template <typename... T>
void expect_limits_of_integers() {
  (expect_limits_of_integer<T>(), ...);
}

TEST(DeviceLimits, AreThoseOfTheStandardLibrary) {
  expect_limits_of_integers<char, std::int8_t, std::uint8_t, std::int16_t,
                            std::uint16_t, std::int32_t, std::uint32_t, long,
                            unsigned long, long long, unsigned long long>();
  expect_limits_of_real<float>();
  expect_limits_of_real<double>();
}

TEST(DeviceLimits, OfSixteenBits) {
  EXPECT_EQ(Limits<F16>::highest(), 65504.0f);
  EXPECT_EQ(Limits<F16>::lowest(), -65504.0f);
  EXPECT_EQ(Limits<F16>::smallest(), 0x1p-14f);
  EXPECT_EQ(Limits<F16>::smallest_subnormal(), 0x1p-24f);
  EXPECT_EQ(Limits<F16>::epsilon(), 0x1p-10f);
  EXPECT_EQ(Limits<Bf16>::highest(), 0x1.fep127f);
  EXPECT_EQ(Limits<Bf16>::smallest(), 0x1p-126f);
  EXPECT_EQ(Limits<Bf16>::epsilon(), 0x1p-7f);
  EXPECT_TRUE(is_infinite(Limits<F16>::infinity()));
  EXPECT_TRUE(is_nan(Limits<Bf16>::nan()));
  EXPECT_TRUE(is_finite(Limits<F16>::lowest()));
  EXPECT_FALSE(is_finite(-Limits<Bf16>::infinity()));
}

TEST(DeviceTraits, SixteenBitsComputeAsFloat) {
  static_assert(std::is_same_v<ComputeType<F16>, float>);
  static_assert(std::is_same_v<ComputeType<Bf16>, float>);
  static_assert(std::is_same_v<ComputeType<double>, double>);
  static_assert(std::is_same_v<ComputeType<int>, int>);
  EXPECT_EQ(gpuos::sqrt(F16(4.0f)), 2.0f);
  EXPECT_EQ(gpuos::fma(Bf16(2.0f), Bf16(3.0f), Bf16(1.0f)), 7.0f);
}

TEST(Vectors, LoadAndStoreAtAnyAddress) {
  alignas(16) std::uint16_t from[16];
  alignas(16) std::uint16_t to[16] = {};
  for (std::uint16_t i = 0; i < 16; ++i) from[i] = i;
  EXPECT_TRUE(is_aligned<8>(from));
  EXPECT_FALSE(is_aligned<8>(from + 1));
  EXPECT_TRUE(is_aligned<2>(from + 2));
  store_vector(to, load_vector<8>(from + 8));
  EXPECT_EQ(to[0], 8);
  EXPECT_EQ(to[7], 15);
  store_vector_unaligned(to + 3, load_vector_unaligned<8>(from + 1));
  EXPECT_EQ(to[2], 10);
  EXPECT_EQ(to[3], 1);
  EXPECT_EQ(to[10], 8);
  EXPECT_EQ(to[11], 0);
  EXPECT_EQ(load_vector<4>(from)[3], 3);
}

}  // namespace
}  // namespace gpuos
