// Helpers of the targets. A target takes any bytes, and may end only with the
// errors that the parser documents. Any other end is a finding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// libFuzzer calls it with bytes that it made up, replay.cpp with files.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size);

namespace gpuos::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process unless `is_right`.
inline void expect(bool is_right, const char* what) {
  if (is_right) return;
  std::fprintf(stderr, "not so: %s\n", what);
  std::abort();
}

/// The parts of an input between its zero bytes; at least one.
inline std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Takes numbers from an input; zeros once it is used up.
class Bytes {
 public:
  explicit Bytes(std::string_view rest) : rest_(rest) {}

  template <typename T = std::uint8_t>
  T number() {
    T value{};
    const std::size_t count = std::min(rest_.size(), sizeof value);
    std::memcpy(&value, rest_.data(), count);
    rest_.remove_prefix(count);
    return value;
  }
  int below(int count) { return number() % count; }
  bool is_empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace gpuos::fuzz
