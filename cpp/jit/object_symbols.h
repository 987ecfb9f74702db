#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuos::jit {

/// A function or variable of an object.
struct ObjectSymbol {
  std::string name;
  std::size_t bytes = 0;
  bool is_function = false;
};

/// The symbols that a relocatable CUBIN defines for others and needs from them.
/// Weak symbols, such as those of template instances, are left out.
struct ObjectSymbols {
  std::vector<ObjectSymbol> defined;
  std::vector<std::string> undefined;
};

/// Throws: CompileError if it is no CUBIN.
ObjectSymbols object_symbols(std::string_view cubin);

/// Where the first value of `variable` is in the file; empty if the image has
/// no such variable or its value is not in the file because it is zero.
/// Throws: CompileError if it is no CUBIN.
std::optional<std::size_t> value_offset(std::string_view cubin,
                                        std::string_view variable);

/// The address that the pointer `symbol` of an image gets.
struct SymbolAddress {
  std::string symbol;
  std::uint64_t address = 0;
};

/// Throws: CompileError if the image has no place for one of them.
void put_addresses(std::string& image,
                   std::span<const SymbolAddress> addresses);

}  // namespace gpuos::jit
