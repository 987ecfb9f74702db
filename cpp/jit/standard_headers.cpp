#include "jit/standard_headers.h"

#include <algorithm>
#include <array>

namespace gpuos::jit {
namespace {

constexpr std::string_view kIntegers = "#include \"standard_integers.h\"\n";
constexpr std::string_view kLimits = "#include \"standard_limits.h\"\n";
constexpr std::string_view kMath = "#include \"standard_math.h\"\n";
constexpr std::string_view kTraits = "#include \"standard_traits.h\"\n";
constexpr std::string_view kAssert = "#include \"asserts.h\"\n";

constexpr std::array<StandardHeader, 14> kHeaders{{
    {"cstdint", kIntegers},
    {"stdint.h", kIntegers},
    {"cstddef", kIntegers},
    {"stddef.h", kIntegers},
    {"climits", kIntegers},
    {"limits.h", kIntegers},
    {"limits", kLimits},
    {"cfloat", kLimits},
    {"float.h", kLimits},
    {"cmath", kMath},
    {"math.h", kMath},
    {"type_traits", kTraits},
    {"cassert", kAssert},
    {"assert.h", kAssert},
}};

}  // namespace

std::span<const StandardHeader> standard_headers() { return kHeaders; }

bool is_standard_header(std::string_view name) {
  return std::ranges::find(kHeaders, name, &StandardHeader::name) !=
         kHeaders.end();
}

}  // namespace gpuos::jit
