#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gpuos::jit {

/// Describes a function or variable of an object.
struct ObjectSymbol {
  std::string name;
  std::size_t bytes = 0;
  bool is_function = false;
};

/// Holds the symbols that a relocatable CUBIN defines for others and needs from
/// them. Weak symbols, such as those of template instances, are left out.
struct ObjectSymbols {
  std::vector<ObjectSymbol> defined;
  std::vector<std::string> undefined;
};

/// Reads the symbols. Throws: CompileError if it is no CUBIN.
ObjectSymbols object_symbols(std::string_view cubin);

/// Returns the place of the first value of `variable` in the file. Returns
/// nothing if the image has no such variable. Also returns nothing if the value
/// is zero, because then the file does not contain it.
/// Throws: CompileError if it is no CUBIN.
std::optional<std::size_t> value_offset(std::string_view cubin,
                                        std::string_view variable);

/// Holds the address that the pointer `symbol` of an image gets.
struct SymbolAddress {
  std::string symbol;
  std::uint64_t address = 0;
};

/// Writes the addresses. Throws: CompileError if the image has no place for one
/// of them.
void put_addresses(std::string& image,
                   std::span<const SymbolAddress> addresses);

}  // namespace gpuos::jit
