// A CUBIN with exactly the contents that a test needs. No compiler writes such
// a file, but a program may still pass one.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace gpuos::jit {

class MadeCubin {
 public:
  /// Returns numbers in their file representation.
  template <typename... T>
  static std::string bytes_of(T... numbers) {
    std::string bytes;
    (bytes.append(reinterpret_cast<const char*>(&numbers), sizeof numbers),
     ...);
    return bytes;
  }

  /// Returns its number.
  std::uint16_t add_section(std::string_view name, std::string content) {
    sections_.push_back({add_name(name), kPlain, 0, std::move(content)});
    return static_cast<std::uint16_t>(kFirst + sections_.size() - 1);
  }

  /// Returns its number.
  std::uint32_t add_symbol(std::string_view name, std::uint16_t section,
                           std::uint64_t value = 0, std::uint64_t bytes = 0) {
    constexpr std::uint8_t kGlobalFunction = 1 << 4 | 2;
    symbols_ += bytes_of(add_name(name), kGlobalFunction, std::uint8_t{0},
                         section, value, bytes);
    return static_cast<std::uint32_t>(symbols_.size() / kSymbolBytes - 1);
  }

  /// Returns the file. The table of sections comes before their contents.
  std::string image() const {
    constexpr std::uint64_t kHeaderBytes = 64;
    constexpr std::uint64_t kEntryBytes = 64;
    std::vector<Part> parts{{0, 0, 0, ""},
                            {0, kPlain, 0, names_},
                            {kSymtabName, kPlain, 1, symbols_}};
    parts.insert(parts.end(), sections_.begin(), sections_.end());
    std::string file(kHeaderBytes, '\0');
    file.replace(0, 5, "\177ELF\2");
    put(file, 18, std::uint16_t{190});
    put(file, 0x28, kHeaderBytes);
    put(file, 0x3c, static_cast<std::uint16_t>(parts.size()));
    put(file, 0x3e, std::uint16_t{1});
    std::uint64_t at = kHeaderBytes + kEntryBytes * parts.size();
    std::string content;
    for (const Part& part : parts) {
      const std::uint64_t zero = 0;
      const std::uint64_t size = part.content.size();
      file += bytes_of(part.name, part.type, zero, zero, at, size, part.link,
                       std::uint32_t{0}, zero, zero);
      content += part.content;
      at += size;
    }
    return file + content;
  }

 private:
  struct Part {
    std::uint32_t name;
    std::uint32_t type;
    std::uint32_t link;
    std::string content;
  };
  static constexpr std::uint32_t kPlain = 1;
  static constexpr std::size_t kFirst = 3;  // after the sections of every file
  static constexpr std::size_t kSymbolBytes = 24;
  static constexpr std::uint32_t kSymtabName = 1;

  template <typename T>
  static void put(std::string& file, std::size_t at, T value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  }
  std::uint32_t add_name(std::string_view name) {
    const auto at = static_cast<std::uint32_t>(names_.size());
    names_ += name;
    names_ += '\0';
    return at;
  }

  std::string names_ = std::string("\0.symtab\0", 9);
  std::string symbols_;
  std::vector<Part> sections_;
};

}  // namespace gpuos::jit
