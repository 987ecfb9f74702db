#include "gpuos/cache.h"

#include <algorithm>
#include <iterator>

#include "base/concat.h"
#include "jit/cache/cache_entry.h"
#include "jit/cache/cache_folder.h"
#include "jit/cache/disk_cache.h"

namespace gpuos {
namespace {

using jit::CacheFolder;
using jit::FolderUse;

CacheFolder open_own() {
  const std::string& path = jit::disk_cache().settings().folder;
  return path.empty() ? CacheFolder() : open_folder(path, FolderUse::ReadWrite);
}

CacheLevel look_at(const std::string& path, FolderUse use,
                   const std::string& why_off) {
  CacheLevel level{.folder = path, .why_off = why_off};
  if (path.empty()) return level;
  const CacheFolder folder = open_folder(path, use);
  level.why_off = folder.problem;
  if (!folder) return level;
  level.is_writable = use == FolderUse::ReadWrite && can_write(folder);
  const jit::CacheListing listing = list_folder(folder);
  level.entries = listing.entries.size();
  level.bytes = listing.bytes;
  return level;
}

CachedImageState state_of(jit::EntryState state) {
  switch (state) {
    case jit::EntryState::Good:
      return CachedImageState::Good;
    case jit::EntryState::OtherSchema:
      return CachedImageState::OtherSchema;
    case jit::EntryState::Bad:
      break;
  }
  return CachedImageState::Bad;
}

CachedImage check(const CacheFolder& folder, const std::string& path,
                  const jit::CacheFile& file, FolderUse use) {
  CachedImage image;
  image.path = concat(path, "/", file.name);
  image.is_read_only = use == FolderUse::ReadOnly;
  image.bytes = file.bytes;
  image.used = static_cast<double>(file.used_ns) * 1e-9;
  const auto bytes = read_cached(folder, file.name, use, false);
  if (!bytes) {
    image.problem =
        "expected a plain file that only its owner can write, got another";
    return image;
  }
  const jit::DecodedEntry decoded = jit::decode(*bytes);
  image.state = state_of(decoded.state);
  image.problem = decoded.problem;
  image.name = decoded.entry.name;
  image.arch = decoded.entry.arch;
  image.registers = decoded.entry.image.needs.registers;
  if (decoded.state == jit::EntryState::Good &&
      jit::DiskCache::file_name(decoded.entry.key) != file.name) {
    image.state = CachedImageState::Bad;
    image.problem = "it has another entry's name";
  }
  return image;
}

void add_images(std::vector<CachedImage>& images, const std::string& path,
                FolderUse use) {
  if (path.empty()) return;
  const CacheFolder folder = open_folder(path, use);
  if (!folder) return;
  for (const jit::CacheFile& file : list_folder(folder).entries)
    images.push_back(check(folder, path, file, use));
}

}  // namespace

CacheInfo cache_info() {
  const jit::CacheSettings& settings = jit::disk_cache().settings();
  return {
      .own = look_at(settings.folder, FolderUse::ReadWrite, settings.why_off),
      .read_only = look_at(settings.readonly_folder, FolderUse::ReadOnly, ""),
      .max_bytes = settings.max_bytes};
}

std::vector<CachedImage> cached_images() {
  const jit::CacheSettings& settings = jit::disk_cache().settings();
  std::vector<CachedImage> images;
  add_images(images, settings.folder, FolderUse::ReadWrite);
  add_images(images, settings.readonly_folder, FolderUse::ReadOnly);
  std::ranges::stable_sort(images, std::ranges::greater(), &CachedImage::used);
  return images;
}

CacheRemoval prune_cache(std::uint64_t max_bytes) {
  CacheRemoval removal;
  const CacheFolder folder = open_own();
  if (!folder) return removal;
  const std::string& path = jit::disk_cache().settings().folder;
  for (const jit::CacheFile& file : list_folder(folder).entries) {
    if (check(folder, path, file, FolderUse::ReadWrite).state ==
        CachedImageState::Bad)
      remove_cached(folder, file, removal);
  }
  const CacheRemoval evicted = evict(folder, list_folder(folder), max_bytes);
  return {removal.files + evicted.files, removal.bytes + evicted.bytes};
}

CacheRemoval clear_cache() {
  const CacheFolder folder = open_own();
  return folder ? evict(folder, list_folder(folder), 0) : CacheRemoval();
}

}  // namespace gpuos
