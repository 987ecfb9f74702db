#include "jit/objects/elf_resources.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/concat.h"
#include "jit/objects/cubin.h"

// No document describes this format. The results were compared with cuobjdump
// -res-usage of CUDA 13.5. The inputs came from NVRTC 12.4, 12.9, 13.0 and 13.5
// for sm_80, sm_90 and sm_120.
//
// .nv.info             records {format, attribute, size or value}; format 4 is
//                      followed by `size` bytes: symbol index, number
// .nv.info.<function>  the same for one function
// .nv.callgraph        pairs of symbol indices, in groups
// .nv.constant<bank>   of the image, or with .<kernel> of one kernel
// .nv.shared.<kernel>  static shared memory, and from sm_90 on the 1024 bytes
//                      that the system keeps for itself
//
// Constant banks: a kernel runs with the banks of its own image. A function of
// another image therefore reads something else there. Bank 0 is the exception:
// it has launch data at places that are equal for all kernels. Bank 3 holds
// __constant__ variables. In bank 2 ptxas puts double constants up to sm_89,
// and jump tables of switch statements on all devices. gpuos tells the compiler
// not to use bank 2. It counts and refuses all banks except bank 0.

namespace gpuos::jit {
namespace {

constexpr std::uint8_t kFrameSize = 0x11;
constexpr std::uint8_t kMinStackSize = 0x12;
constexpr std::uint8_t kRegisterCount = 0x2f;
constexpr std::uint8_t kBarrierCount = 0x4c;

// Holds a function and all functions that it calls.
class CallTree {
 public:
  explicit CallTree(const Cubin& cubin)
      : cubin_(cubin),
        calls_(cubin.calls()),
        info_(cubin.attributes(".nv.info")) {
    std::ranges::stable_sort(calls_, {}, &CallEdge::caller);
  }

  // Returns the number that .nv.info gives for a function.
  std::optional<std::uint32_t> number(std::uint8_t id,
                                      std::uint32_t function) const {
    for (const Attribute& attribute : info_) {
      if (attribute.id == id && attribute.words.size() >= 2 &&
          attribute.words[0] == function)
        return attribute.words[1];
    }
    return std::nullopt;
  }

  Resources needs_of(std::uint32_t root) const {
    std::map<std::uint32_t, Called> called = reached_from(root);
    Resources needs;
    for (auto& [function, each] : called) {
      const Resources own = own_needs(function);
      needs.registers = std::max(needs.registers, own.registers);
      needs.barriers = std::max(needs.barriers, own.barriers);
      each.own_stack = own.stack_bytes;
    }
    needs.stack_bytes = deepest_stack(root, called);
    return needs;
  }

 private:
  struct Called {
    std::size_t callers = 0;  // number of callers not followed yet
    std::uint64_t own_stack = 0;
    std::uint64_t above = 0;  // stack of those that called it, at most
  };

  std::span<const CallEdge> calls_of(std::uint32_t function) const {
    const auto first =
        std::ranges::lower_bound(calls_, function, {}, &CallEdge::caller);
    return {first, std::ranges::upper_bound(first, calls_.end(), function, {},
                                            &CallEdge::caller)};
  }

  std::map<std::uint32_t, Called> reached_from(std::uint32_t root) const {
    std::map<std::uint32_t, Called> called{{root, {}}};
    std::vector<std::uint32_t> found{root};
    while (!found.empty()) {
      const std::uint32_t caller = found.back();
      found.pop_back();
      for (const CallEdge& call : calls_of(caller)) {
        const auto [at, is_new] = called.try_emplace(call.callee);
        ++at->second.callers;
        if (is_new) found.push_back(call.callee);
      }
    }
    return called;
  }

  // The loop follows a function after all its callers, so it follows each only
  // once.
  std::uint32_t deepest_stack(std::uint32_t root,
                              std::map<std::uint32_t, Called>& called) const {
    std::uint64_t deepest = 0;
    std::size_t followed = 0;
    std::vector<std::uint32_t> ready;
    if (called.at(root).callers == 0) ready.push_back(root);
    for (; !ready.empty(); ++followed) {
      const std::uint32_t caller = ready.back();
      ready.pop_back();
      const std::uint64_t bytes =
          called.at(caller).above + called.at(caller).own_stack;
      deepest = std::max(deepest, bytes);
      for (const CallEdge& call : calls_of(caller)) {
        Called& callee = called.at(call.callee);
        callee.above = std::max(callee.above, bytes);
        if (--callee.callers == 0) ready.push_back(call.callee);
      }
    }
    // A function that remains here calls itself.
    const bool is_bounded =
        followed == called.size() && deepest < Resources::kUnbounded;
    return is_bounded ? static_cast<std::uint32_t>(deepest)
                      : Resources::kUnbounded;
  }

  Resources own_needs(std::uint32_t function) const {
    if (function >= cubin_.symbols().size()) fail_cubin("a call of no symbol");
    const std::string_view name = cubin_.symbols()[function].name;
    Resources needs;
    needs.registers = number(kRegisterCount, function).value_or(0);
    needs.stack_bytes = number(kFrameSize, function).value_or(0);
    for (const Attribute& own : cubin_.attributes(concat(".nv.info.", name))) {
      if (own.id == kBarrierCount && own.words.empty())
        needs.barriers = own.value;
    }
    if (const Section* code = cubin_.find_section(concat(".text.", name))) {
      // CUDA 12 keeps both numbers here. CUDA 13 leaves them 0.
      const auto barriers =
          static_cast<std::uint32_t>(code->flags >> 20) & 0x7f;
      needs.registers = std::max(needs.registers, code->info >> 24);
      needs.barriers = std::max(needs.barriers, barriers);
    }
    return needs;
  }

  const Cubin& cubin_;
  std::vector<CallEdge> calls_;
  std::vector<Attribute> info_;
};

std::uint32_t constant_bytes(const Cubin& cubin) {
  std::uint64_t bytes = 0;
  for (const Section& section : cubin.sections()) {
    constexpr std::string_view kBank = ".nv.constant";
    constexpr std::string_view kLaunchBank = ".nv.constant0";
    if (section.name.starts_with(kBank) &&
        !section.name.starts_with(kLaunchBank))
      bytes += section.size;
  }
  return static_cast<std::uint32_t>(bytes);
}

void add_shared(const Cubin& cubin, std::string_view function,
                Resources& resources) {
  const Section* section = cubin.find_section(concat(".nv.shared.", function));
  if (section == nullptr) return;
  resources.uses_shared = true;
  const std::uint64_t reserved = cubin.architecture() >= 90 ? 1024 : 0;
  resources.shared_bytes = static_cast<std::uint32_t>(
      section->size - std::min(section->size, reserved));
}

}  // namespace

Resources read_resources(std::string_view cubin, std::string_view function) {
  const Cubin image(cubin);
  const auto symbol = image.find_symbol(function);
  if (!symbol || image.find_section(concat(".text.", function)) == nullptr)
    fail_cubin(concat("no function ", function));
  const CallTree tree(image);
  Resources resources = tree.needs_of(*symbol);
  // For a kernel the linker also counts calls through pointers.
  if (const auto bytes = tree.number(kMinStackSize, *symbol))
    resources.stack_bytes = *bytes;
  resources.constant_bytes = constant_bytes(image);
  add_shared(image, function, resources);
  return resources;
}

bool has_symbol(std::string_view cubin, std::string_view symbol) {
  return Cubin(cubin).find_symbol(symbol).has_value();
}

bool needs_symbol(std::string_view cubin, std::string_view name) {
  const Cubin image(cubin);
  return std::ranges::any_of(image.symbols(), [name](const Symbol& symbol) {
    return symbol.section == 0 && symbol.name == name;
  });
}

std::set<std::string> symbol_names(std::string_view cubin) {
  std::set<std::string> names;
  const Cubin image(cubin);
  for (const Symbol& symbol : image.symbols()) {
    // Sections have symbols with their own names.
    if (symbol.section == 0 || symbol.name.starts_with('.')) continue;
    names.emplace(symbol.name);
  }
  return names;
}

}  // namespace gpuos::jit
