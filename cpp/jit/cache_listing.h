#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/cache.h"
#include "jit/cache_folder.h"

namespace gpuos::jit {

/// A file that the cache has written.
struct CacheFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;  // since 1970
};

/// The contents of a folder of the cache. Foreign files are ignored.
struct CacheListing {
  std::vector<CacheFile> entries;    // the longest unused first
  std::vector<CacheFile> leftovers;  // of writers and lock holders
  std::uint64_t bytes = 0;           // of the entries
};

CacheListing list_folder(const CacheFolder& folder);

/// Remove the longest unused entries until `most_bytes` are left, and
/// leftovers of processes that are gone.
CacheRemoval evict(const CacheFolder& folder, const CacheListing& listing,
                   std::uint64_t most_bytes);

/// Remove one file and count it.
void remove_cached(const CacheFolder& folder, const CacheFile& file,
                   CacheRemoval& removal);

}  // namespace gpuos::jit
