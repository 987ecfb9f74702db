// CUBINs that no compiler writes.
#include "made_cubin.h"

#include <gtest/gtest.h>

#include "base/concat.h"
#include "gpuos/error.h"
#include "jit/objects/elf_resources.h"
#include "jit/objects/object_symbols.h"

namespace gpuos::jit {
namespace {

constexpr std::uint8_t kFrameSize = 0x11;

/// Returns functions f0, f1 and so on with the same stack and these calls.
std::string functions(std::uint32_t count, std::uint32_t stack_bytes,
                      const std::vector<std::pair<int, int>>& calls) {
  MadeCubin cubin;
  const std::uint16_t code = cubin.add_section(".text.f0", "code");
  // Number 0 begins a group in the graph of calls.
  cubin.add_symbol("", 0);
  std::string info;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t symbol = cubin.add_symbol(concat("f", i), code);
    info += MadeCubin::bytes_of(std::uint8_t{4}, kFrameSize, std::uint16_t{8},
                                symbol, stack_bytes);
  }
  std::string graph = MadeCubin::bytes_of(0u, 0xffffffffu);
  for (const auto& [caller, callee] : calls)
    graph += MadeCubin::bytes_of(caller + 1, callee + 1);
  cubin.add_section(".nv.info", info);
  cubin.add_section(".nv.callgraph", graph);
  return cubin.image();
}

TEST(MadeCubin, StackIsThatOfTheDeepestPath) {
  const std::string cubin =
      functions(5, 8, {{0, 1}, {0, 2}, {2, 3}, {1, 3}, {3, 4}});
  EXPECT_EQ(read_resources(cubin, "f0").stack_bytes, 32u);
}

TEST(MadeCubin, EachFunctionIsFollowedOnce) {
  std::vector<std::pair<int, int>> calls;
  for (int i = 0; i < 60; ++i) calls.insert(calls.end(), 2, {i, i + 1});
  const std::string cubin = functions(61, 16, calls);
  EXPECT_EQ(read_resources(cubin, "f0").stack_bytes, 61 * 16u);
}

TEST(MadeCubin, ARecursiveFunctionHasNoBound) {
  EXPECT_EQ(read_resources(functions(1, 8, {{0, 0}}), "f0").stack_bytes,
            Resources::kUnbounded);
  EXPECT_EQ(read_resources(functions(3, 8, {{0, 1}, {1, 2}, {2, 1}}), "f0")
                .stack_bytes,
            Resources::kUnbounded);
}

TEST(MadeCubin, StackThatIsNoNumberHasNoBound) {
  const std::string cubin = functions(2, 0x80000004u, {{0, 1}});
  EXPECT_EQ(read_resources(cubin, "f0").stack_bytes, Resources::kUnbounded);
}

TEST(MadeCubin, FirstSymbolIsFoundAsItIsListed) {
  MadeCubin cubin;
  cubin.add_symbol("first", cubin.add_section(".text.first", "code"));
  EXPECT_EQ(symbol_names(cubin.image()), std::set<std::string>{"first"});
  EXPECT_TRUE(has_symbol(cubin.image(), "first"));
}

TEST(MadeCubin, AddressIsPutInsideOfTheImage) {
  MadeCubin cubin;
  const std::uint16_t section = cubin.add_section(".data", "12345678");
  cubin.add_symbol("", 0);
  cubin.add_symbol("right", section, 0, 8);
  cubin.add_symbol("late", section, 4, 4);
  cubin.add_symbol("behind", section, 8, 0);
  std::string image = cubin.image();
  const std::string before = image;
  for (const char* name : {"late", "behind"}) {
    const SymbolAddress address{name, 1};
    EXPECT_THROW(put_addresses(image, {&address, 1}), CompileError) << name;
  }
  EXPECT_EQ(image, before);
  const SymbolAddress address{"right", 0x1122334455667788u};
  put_addresses(image, {&address, 1});
  EXPECT_EQ(image.substr(image.size() - 8),
            MadeCubin::bytes_of(address.address));
}

}  // namespace
}  // namespace gpuos::jit
