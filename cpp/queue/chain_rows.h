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
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      Row& row = rows_[(newest_ + i) % rows_.size()];
      if (row.batch.ring == ring && row.batch.stream == stream &&
          has_all(row, accesses))
        return &row;
    }
    return nullptr;
  }
  static void forget(Row& row) noexcept { row = {}; }

  /// Notes what a member of the chain at `position` touches. False: it was
  /// known.
  bool add(const BatchRef& batch, std::uint64_t position,
           const Access& access) noexcept {
    Row& row = row_of(batch, position);
    if (row.has(access)) return false;
    if (row.count < row.touched.size()) row.touched[row.count++] = access;
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
  Row& row_of(const BatchRef& batch, std::uint64_t position) noexcept {
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const std::size_t at = (newest_ + i) % rows_.size();
      if (rows_[at].position == position && rows_[at].batch == batch)
        return rows_[at];
    }
    newest_ = (newest_ + rows_.size() - 1) % rows_.size();
    rows_[newest_] = {batch, position, 0, {}};
    return rows_[newest_];
  }

  std::array<Row, 8> rows_;
  std::size_t newest_ = 0;
};

}  // namespace gpuos
