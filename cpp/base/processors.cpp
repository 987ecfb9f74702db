#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "base/concat.h"
#include "base/config.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kNoLimit = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kMost = 65535;

std::uint32_t count_allowed() {
  // The mask must be as long as the kernel's, so several sizes are tried.
  constexpr std::size_t kMostBytes = 1 << 16;
  for (std::size_t bytes = sizeof(cpu_set_t); bytes <= kMostBytes; bytes *= 2) {
    std::vector<cpu_set_t> mask(bytes / sizeof(cpu_set_t));
    if (sched_getaffinity(0, bytes, mask.data()) == 0)
      return static_cast<std::uint32_t>(CPU_COUNT_S(bytes, mask.data()));
  }
  return std::thread::hardware_concurrency();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

std::optional<std::int64_t> number_in(std::string_view text) {
  text = trimmed(text);
  std::int64_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

/// Reads the number of a variable that is set. Throws: InvalidArgument.
std::uint32_t count_in(const char* name, const std::string& text,
                       std::string_view value) {
  const auto count = number_in(value);
  if (!count || *count < 1 || *count > kMost)
    throw InvalidArgument(concat("Runtime: ", name, ": expected 1 to ", kMost,
                                 ", got '", text, "'"));
  return static_cast<std::uint32_t>(*count);
}

std::uint32_t count_in(const char* name, const std::string& text) {
  return count_in(name, text, text);
}

std::uint32_t omp_threads(const std::string& text) {
  if (text.empty()) return kNoLimit;
  // One number for each level of nested regions. The first is that of the outer
  // level.
  return count_in("OMP_NUM_THREADS", text,
                  std::string_view(text).substr(0, text.find(',')));
}

std::string line_of(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// Returns the whole processors in a quota of time. One thread more would stop
/// all of them before the end of each period.
std::uint32_t processors_in(std::string_view quota, std::string_view period) {
  const auto time = number_in(quota);
  const auto of = number_in(period);
  if (!time || !of || *time <= 0 || *of <= 0) return kNoLimit;
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(*time / *of, 1, kMost));
}

/// cpu.max of version 2: "max 100000" or "150000 100000".
std::uint32_t quota_of(const fs::path& folder) {
  const std::string line = line_of(folder / "cpu.max");
  const std::size_t space = line.find(' ');
  if (space != line.npos)
    return processors_in(std::string_view(line).substr(0, space),
                         std::string_view(line).substr(space));
  return processors_in(line_of(folder / "cpu.cfs_quota_us"),
                       line_of(folder / "cpu.cfs_period_us"));
}

/// A group's quota is one for the groups in it, too.
std::uint32_t least_quota(const fs::path& mount, fs::path group) {
  std::uint32_t least = quota_of(mount);
  for (group = group.relative_path(); !group.empty();
       group = group.parent_path())
    least = std::min(least, quota_of(mount / group));
  return least;
}

/// By the groups in /proc/self/cgroup: lines of number, controllers and path.
std::uint32_t group_quota(const fs::path& root) {
  const fs::path mounts = root / "sys/fs/cgroup";
  std::uint32_t least = kNoLimit;
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string names = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    if (names.empty())  // version 2
      least = std::min(least, least_quota(mounts, group));
    else if (concat(",", names, ",").find(",cpu,") != line.npos)
      least = std::min({least, least_quota(mounts / names, group),
                        least_quota(mounts / "cpu", group)});
  }
  return least;
}

}  // namespace

Surroundings surroundings() {
  return {.allowed = count_allowed(),
          .root = "/",
          .workers = config().workers,
          .omp_num_threads = config().omp_num_threads,
          .local_world_size = config().local_world_size};
}

Processors processors_for(std::uint32_t workers,
                          const Surroundings& surroundings) {
  const std::string& world = surroundings.local_world_size;
  const std::uint32_t processes =
      world.empty() ? 1 : count_in("LOCAL_WORLD_SIZE", world);
  const std::uint32_t all =
      std::min({surroundings.allowed, group_quota(surroundings.root),
                omp_threads(surroundings.omp_num_threads)});
  Processors processors;
  processors.usable = std::max(1u, all / processes);
  if (workers != 0)
    processors.workers = workers;
  else if (!surroundings.workers.empty())
    processors.workers = count_in("GPUOS_WORKERS", surroundings.workers);
  else
    processors.workers = processors.usable;
  return processors;
}

std::uint32_t usable_processors() noexcept {
  Surroundings here;
  try {
    here = surroundings();
    return processors_for(0, here).usable;
  } catch (const std::exception&) {
    return here.allowed;
  }
}

}  // namespace gpuos
