#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "queue/hazards.h"

namespace gpuos {

/// What the members of a few chains touch. A task that touches nothing else
/// joins them without a search: a task outside that meets one of these ranges
/// would have ended the chain.
///
/// Threads: the submit lock.
class ChainRows {
 public:
  struct Row {
    BatchRef batch;
    std::uint64_t position = HazardTable::kNoPosition;
    std::uint32_t count = 0;
    std::uint64_t seen = 0;  // bit_of() of what it touched
    std::array<Access, 8> touched{};

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

  /// The row of which a task of this ring and stream would be; null: none is
  /// known. Its chain may be closed by now: then forget() it.
  Row* find(std::uint32_t ring, const void* stream,
            std::span<const Access> accesses) noexcept {
    const auto is_theirs = [&](const Row& row) {
      return row.batch.ring == ring && row.batch.stream == stream &&
             has_all(row, accesses);
    };
    if (is_theirs(rows_[newest_])) return &rows_[newest_];
    // Most others are not, which the bits say at once.
    std::uint64_t bits = 0;
    for (const Access& access : accesses) bits |= bit_of(access);
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      Row& row = rows_[(newest_ + i) % rows_.size()];
      if ((row.seen & bits) == bits && is_theirs(row)) return &row;
    }
    return nullptr;
  }
  static void forget(Row& row) noexcept {
    row.position = HazardTable::kNoPosition;
    row.count = 0;
    row.seen = 0;
  }

  /// The row of the chain at `position`.
  Row& row_of(const BatchRef& batch, std::uint64_t position) noexcept {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t at = (newest_ + i) % rows_.size();
      if (rows_[at].position == position && rows_[at].batch == batch)
        return rows_[at];
    }
    newest_ = (newest_ + rows_.size() - 1) % rows_.size();
    Row& row = rows_[newest_];
    row.batch = batch;
    row.position = position;
    row.count = 0;
    row.seen = 0;
    return row;
  }
  /// Notes what a member touches. False: it was known.
  static bool add(Row& row, const Access& access) noexcept {
    if (row.has(access)) return false;
    if (row.count < row.touched.size()) {
      row.touched[row.count++] = access;
      row.seen |= bit_of(access);
    }
    return true;
  }

 private:
  static bool has_all(const Row& row,
                      std::span<const Access> accesses) noexcept {
    for (const Access& access : accesses) {
      if (!row.has(access)) return false;
    }
    return true;
  }
  static std::uint64_t bit_of(const Access& access) noexcept {
    constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;
    return std::uint64_t{1} << (access.low * kGolden >> 58);
  }

  std::array<Row, 8> rows_;
  std::size_t newest_ = 0;
};

}  // namespace gpuos
