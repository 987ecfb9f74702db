#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/image.h"

namespace gpuos::jit {

/// Changes with the layout of an entry, and with whatever decides how an image
/// is made and is not in the key.
inline constexpr std::uint32_t kCacheSchema = 2;

/// A compiled image as it is kept in a file.
struct CacheEntry {
  std::string key;   // everything that the image depends on
  std::string name;  // for people: "axpy.cu"
  std::string arch;  // for people: "sm_90"
  Image image;
};

enum class EntryState { Good, Bad, OtherSchema };

struct DecodedEntry {
  EntryState state = EntryState::Bad;
  std::string problem;  // what is wrong with it; empty if good
  CacheEntry entry;
};

/// The bytes of a file: magic, schema, each field with its length, and the
/// SHA-256 of all that.
std::string encode(const CacheEntry& entry);

/// Never throws for what `bytes` holds.
DecodedEntry decode(std::string_view bytes);

}  // namespace gpuos::jit
