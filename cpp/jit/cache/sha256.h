#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace gpuos::jit {

/// Returns the digest. Source: FIPS 180-4.
std::array<std::uint8_t, 32> sha256(std::string_view text);

/// Returns 64 small hexadecimal digits.
std::string sha256_hex(std::string_view text);

}  // namespace gpuos::jit
