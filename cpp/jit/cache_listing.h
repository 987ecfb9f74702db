#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpuos/cache.h"
#include "jit/cache_folder.h"

namespace gpuos::jit {

/// Describes a file that the cache has written.
struct CacheFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::int64_t used_ns = 0;  // since 1970
};

/// Lists the contents of a folder of the cache. The list ignores foreign files.
struct CacheListing {
  std::vector<CacheFile> entries;    // the longest unused first
  std::vector<CacheFile> leftovers;  // files of writers and lock holders
  std::uint64_t bytes = 0;           // total size of the entries
};

CacheListing list_folder(const CacheFolder& folder);

/// Removes the longest unused entries until `most_bytes` are left. Also removes
/// leftovers of processes that have ended.
CacheRemoval evict(const CacheFolder& folder, const CacheListing& listing,
                   std::uint64_t most_bytes);

/// Removes one file and counts it.
void remove_cached(const CacheFolder& folder, const CacheFile& file,
                   CacheRemoval& removal);

}  // namespace gpuos::jit
