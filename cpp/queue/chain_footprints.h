#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "queue/hazards.h"

namespace gpuos {

/// The memory that the members of a few chains access. A task that accesses
/// nothing else joins them without a search. A task outside of the chain that
/// accesses one of these ranges would have ended the chain.
///
/// Threads: the submit lock.
class ChainFootprints {
 public:
  struct Footprint {
    BatchRef batch;
    std::uint64_t position = HazardTable::kNoPosition;
    std::uint32_t count = 0;
    std::uint64_t seen = 0;  // bit_of() of all touched memory
    std::array<Access, 8> touched{};
    // For a chain with whole operators this is the memory of its newest member,
    // or nothing if that is too much.
    bool is_traced = false;
    std::uint32_t newest_count = 0;
    std::array<Access, 8> newest{};

    /// Returns whether a task has to come after the newest member.
    bool meets_newest(std::span<const Access> accesses) const noexcept {
      const std::span members(newest.data(), newest_count);
      return std::ranges::any_of(accesses, [&](const Access& a) {
        return std::ranges::any_of(members, [&](const Access& b) {
          return (a.writes || b.writes) && a.low < b.high && b.low < a.high;
        });
      });
    }
    void set_newest(std::span<const Access> accesses) noexcept {
      is_traced = true;
      newest_count = 0;
      if (accesses.size() > newest.size()) return;
      newest_count = static_cast<std::uint32_t>(accesses.size());
      std::ranges::copy(accesses, newest.begin());
    }
    bool has(const Access& access) const noexcept {
      const Access* const end = touched.data() + count;
      for (const Access* known = touched.data(); known != end; ++known) {
        if (known->low == access.low && known->high == access.high &&
            known->writes >= access.writes)
          return true;
      }
      return false;
    }
  };

  /// Returns the footprint of the chain that a task of this ring and stream
  /// would join. It is null if none is known, or if the chain has whole
  /// operators. If the chain is closed, the caller must forget() it.
  Footprint* find(std::uint32_t ring, const void* stream,
                  std::span<const Access> accesses) noexcept {
    const auto is_candidate = [&](const Footprint& footprint) {
      return footprint.batch.ring == ring && footprint.batch.stream == stream &&
             !footprint.is_traced && has_all(footprint, accesses);
    };
    if (is_candidate(footprints_[newest_])) return &footprints_[newest_];
    // Most others are not, which the bits say at once.
    std::uint64_t bits = 0;
    for (const Access& access : accesses) bits |= bit_of(access);
    for (std::size_t i = 1; i < footprints_.size(); ++i) {
      Footprint& footprint = footprints_[(newest_ + i) % footprints_.size()];
      if ((footprint.seen & bits) == bits && is_candidate(footprint))
        return &footprint;
    }
    return nullptr;
  }
  static void forget(Footprint& footprint) noexcept {
    footprint.position = HazardTable::kNoPosition;
    footprint.count = 0;
    footprint.seen = 0;
    footprint.is_traced = false;
  }

  Footprint* known(const BatchRef& batch, std::uint64_t position) noexcept {
    for (std::size_t i = 0; i < footprints_.size(); ++i) {
      const std::size_t at = (newest_ + i) % footprints_.size();
      if (footprints_[at].position == position &&
          footprints_[at].batch == batch)
        return &footprints_[at];
    }
    return nullptr;
  }
  Footprint& footprint_of(const BatchRef& batch,
                          std::uint64_t position) noexcept {
    if (Footprint* footprint = known(batch, position)) return *footprint;
    newest_ = (newest_ + footprints_.size() - 1) % footprints_.size();
    Footprint& footprint = footprints_[newest_];
    forget(footprint);
    footprint.batch = batch;
    footprint.position = position;
    return footprint;
  }
  /// Records the memory of a member. Returns false if it was known.
  static bool add(Footprint& footprint, const Access& access) noexcept {
    if (footprint.has(access)) return false;
    if (footprint.count < footprint.touched.size()) {
      footprint.touched[footprint.count++] = access;
      footprint.seen |= bit_of(access);
    }
    return true;
  }

 private:
  static bool has_all(const Footprint& footprint,
                      std::span<const Access> accesses) noexcept {
    for (const Access& access : accesses) {
      if (!footprint.has(access)) return false;
    }
    return true;
  }
  static std::uint64_t bit_of(const Access& access) noexcept {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
    return std::uint64_t{1} << (access.low * kGolden >> 58);
  }

  std::array<Footprint, 8> footprints_;
  std::size_t newest_ = 0;
};

}  // namespace gpuos
