#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/objects/image.h"

namespace gpuos::jit {

/// Changes with the layout of an entry. Also changes with everything outside
/// the key that decides how an image is made.
inline constexpr std::uint32_t kCacheSchema = 2;

/// Holds a compiled image as a file keeps it.
struct CacheEntry {
  std::string key;   // everything that the image depends on
  std::string name;  // for people: "axpy.cu"
  std::string arch;  // for people: "sm_90"
  Image image;
};

enum class EntryState { Good, Bad, OtherSchema };

struct DecodedEntry {
  EntryState state = EntryState::Bad;
  std::string problem;  // the problem, or empty if good
  CacheEntry entry;
};

/// Returns the bytes of a file: magic, schema, and each field with its length.
/// A SHA-256 of all these bytes is the last field.
std::string encode(const CacheEntry& entry);

/// Reads an entry. Never throws, whatever `bytes` holds.
DecodedEntry decode(std::string_view bytes);

}  // namespace gpuos::jit
