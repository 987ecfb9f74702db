#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

namespace gpuos::jit {

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t link = 0;
  std::uint32_t info = 0;

  /// Returns whether the image holds the section's content. A section without
  /// content, or with only zeros, has a size alone.
  bool has_content() const;
};

struct Symbol {
  std::string_view name;
  std::uint8_t type = 0;
  std::uint8_t binding = 0;
  std::uint8_t other = 0;
  std::uint16_t section = 0;  // 0: undefined
  std::uint64_t value = 0;    // offset in the section
  std::uint64_t bytes = 0;
};

struct CallEdge {
  std::uint32_t caller = 0;  // indices into the symbol table
  std::uint32_t callee = 0;
};

struct Attribute {
  std::uint8_t id = 0;
  std::uint16_t value = 0;           // formats 2 and 3
  std::vector<std::uint32_t> words;  // format 4
};

/// Throws: CompileError "cubin: ...".
[[noreturn]] void fail_cubin(std::string_view what);

/// Reads a CUBIN, which is a 64-bit little-endian ELF file for EM_CUDA.
///
/// Lifetime: its results point into the bytes.
class Cubin {
 public:
  /// Throws: CompileError if it is no CUBIN.
  explicit Cubin(std::string_view bytes);

  /// Returns the architecture, which is 90 for sm_90.
  std::uint32_t architecture() const;
  /// Returns whether this object can be linked with others.
  bool is_relocatable() const;
  const std::vector<Section>& sections() const { return sections_; }
  const std::vector<Symbol>& symbols() const { return symbols_; }
  const Section* find_section(std::string_view name) const;
  /// Returns the index of a defined symbol.
  std::optional<std::uint32_t> find_symbol(std::string_view name) const;
  std::vector<Attribute> attributes(std::string_view section_name) const;
  /// Returns the direct calls.
  std::vector<CallEdge> calls() const;
  /// Returns "#iil" for a function that others may call. Returns an empty text
  /// if the CUBIN does not say.
  std::string_view prototype(std::uint32_t symbol) const;

 private:
  template <typename T>
  T read(std::uint64_t at) const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (at > bytes_.size() || bytes_.size() - at < sizeof(T))
      fail_truncated(at);
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof(T));
    return value;
  }
  [[noreturn]] void fail_truncated(std::uint64_t at) const;
  std::string_view text(const Section& table, std::uint32_t at) const;
  void read_sections();
  void read_symbols();

  std::string_view bytes_;
  std::vector<Section> sections_;
  std::vector<Symbol> symbols_;
};

}  // namespace gpuos::jit
