#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gpuos/requests.h"
#include "gpuos/tensor_view.h"

namespace gpuos::requests {

inline constexpr std::uint32_t kNone = 0xffffffff;
inline constexpr std::uint32_t kMany = 0xfffffffe;

/// The elements that a request reads or writes.
struct ArrayElements {
  std::uint64_t address = 0;
  std::uint64_t elems = 0;
  std::uint32_t view = Request::kFlat;  // kFlat: in C order without gaps
  DType dtype{};
};

/// The arrays of requests and their views.
class RequestArrays {
 public:
  void begin(std::span<const Request> requests,
             std::span<const TensorView> views) noexcept {
    requests_ = requests;
    views_ = views;
  }

  const Request& request(std::uint32_t index) const noexcept {
    return requests_[index];
  }
  std::span<const Request> requests() const noexcept { return requests_; }
  const TensorView& view(std::uint32_t index) const noexcept {
    return views_[index];
  }

  ArrayElements output(std::uint32_t index) const noexcept;
  /// Returns an operand that is an array. `arrays` counts the arrays before it.
  ArrayElements operand(std::uint32_t index, std::size_t place,
                        std::uint32_t arrays) const noexcept;

  /// Returns whether both are the same elements in the same places.
  bool is_same(const ArrayElements& a, const ArrayElements& b) const noexcept;
  ByteRange range_of(const ArrayElements& array) const noexcept;

 private:
  ArrayElements array(const Request& request, std::uint64_t address,
                      DType dtype, std::uint32_t place) const noexcept;

  std::span<const Request> requests_;
  std::span<const TensorView> views_;
};

inline bool is_number(const Request& request, std::size_t place) noexcept {
  return (request.numbers >> place & 1) != 0;
}

/// Prefetches a request that is read some iterations after `next`. Usually
/// another processor wrote it.
inline void prefetch_later(std::span<const Request> requests,
                           std::size_t next) noexcept {
  constexpr std::size_t kAhead = 16;
  constexpr std::size_t kLineBytes = 64;
  if (next + kAhead >= requests.size()) return;
  const auto* later = reinterpret_cast<const char*>(&requests[next + kAhead]);
  for (std::size_t at = 0; at < sizeof(Request); at += kLineBytes)
    __builtin_prefetch(later + at);
}

inline ArrayElements RequestArrays::array(const Request& request,
                                          std::uint64_t address, DType dtype,
                                          std::uint32_t place) const noexcept {
  if (request.views == Request::kFlat)
    return {address, request.elems, Request::kFlat, dtype};
  const std::uint32_t at = request.views + place;
  const bool is_flat = views_[at].is_contiguous();
  return {address, static_cast<std::uint64_t>(views_[at].size()),
          is_flat ? Request::kFlat : at, dtype};
}

inline ArrayElements RequestArrays::output(std::uint32_t index) const noexcept {
  const Request& request = requests_[index];
  return array(request, reinterpret_cast<std::uint64_t>(request.out),
               request.out_dtype, 0);
}

inline ArrayElements RequestArrays::operand(
    std::uint32_t index, std::size_t place,
    std::uint32_t arrays) const noexcept {
  const Request& request = requests_[index];
  return array(request, request.values[place], request.dtypes[place],
               1 + arrays);
}

/// An allocation, with its uses by the requests so far. An owner may also be a
/// part of an allocation, which is written and meets no other part. An array of
/// several parts has an owner with `parts` alone.
struct Owner {
  const void* key = nullptr;
  std::uint64_t address = 0;     // of the first array
  bool has_others = false;       // arrays at other addresses
  std::uint32_t first_part = 0;  // of `parts` that follow each other
  std::uint32_t parts = 0;
  std::uint32_t uses = 0;         // operands and outputs of all requests
  bool is_fresh = false;          // a fresh output is what met it first
  bool is_written = false;        // not only as a fresh output
  bool is_refused = false;        // a request that writes it was not run
  bool is_one_array = true;       // all that `toucher` touched is `array`
  std::int8_t is_needed = -1;     // not asked yet
  std::uint32_t toucher = kNone;  // the group, kMany if there are several
  std::uint32_t writer = kNone;   // the last group that wrote
  std::uint32_t value = kNone;    // the last request that wrote
  // Levels of groups count from 1. 0 means none so far.
  std::uint32_t written_level = 0;  // the last that wrote
  std::uint32_t touched_level = 0;  // the highest that read or wrote
  void* memory = nullptr;           // from StillNeeded::place()
  ArrayElements array{};            // the first touched array
};

/// Owners by their pointer. Its memory is used again by the next run.
class OwnerTable {
 public:
  void clear() noexcept {
    owners_.clear();
    if (++run_ == 0) buckets_.clear();  // every run that is marked has ended
  }

  /// The number of `key`, a new one if it has none.
  std::uint32_t find(const void* key) {
    if (2 * owners_.size() >= buckets_.size()) grow();
    std::size_t i = bucket_of(key);
    while (buckets_[i].run == run_) {
      const std::uint32_t owner = buckets_[i].owner;
      if (owners_[owner].key == key) return owner;
      i = (i + 1) & (buckets_.size() - 1);
    }
    const auto owner = static_cast<std::uint32_t>(owners_.size());
    buckets_[i] = {run_, owner};
    owners_.emplace_back().key = key;
    return owner;
  }

  /// Prefetches the data of find().
  void prefetch(const void* key) const noexcept {
    if (!buckets_.empty()) __builtin_prefetch(&buckets_[bucket_of(key)]);
  }

  /// Adds parts of an allocation, and returns the first.
  std::uint32_t add_parts(std::uint32_t of, std::uint32_t count) {
    const auto first = static_cast<std::uint32_t>(owners_.size());
    owners_.resize(first + count, Owner{.key = owners_[of].key,
                                        .uses = owners_[of].uses,
                                        .is_fresh = owners_[of].is_fresh,
                                        .is_written = true});
    return first;
  }
  /// Adds an array of several parts.
  std::uint32_t add_array(std::uint32_t first_part, std::uint32_t parts) {
    owners_.push_back({.first_part = first_part, .parts = parts});
    return static_cast<std::uint32_t>(owners_.size() - 1);
  }
  /// Calls function(owner) for each part, or for the owner if it has none.
  template <typename Function>
  void for_each_part(std::uint32_t owner, Function function) {
    const std::uint32_t parts = owners_[owner].parts;
    if (parts == 0) return function(owners_[owner]);
    const std::uint32_t first = owners_[owner].first_part;
    for (std::uint32_t i = 0; i < parts; ++i) function(owners_[first + i]);
  }

  Owner& operator[](std::uint32_t owner) { return owners_[owner]; }
  std::vector<Owner>& all() noexcept { return owners_; }

 private:
  struct Bucket {
    std::uint32_t run = 0;  // the place is taken in this run
    std::uint32_t owner = 0;
  };

  std::size_t bucket_of(const void* key) const noexcept {
    // Uses the high bits, which are well mixed: addresses have even distances.
    return static_cast<std::size_t>(
        reinterpret_cast<std::uint64_t>(key) * 0x9e3779b97f4a7c15 >> shift_);
  }

  void grow() {
    buckets_.assign(buckets_.empty() ? 64 : 2 * buckets_.size(), {});
    shift_ = std::countl_zero(buckets_.size()) + 1;
    run_ = 1;
    for (std::uint32_t owner = 0; owner < owners_.size(); ++owner) {
      std::size_t i = bucket_of(owners_[owner].key);
      while (buckets_[i].run == run_) i = (i + 1) & (buckets_.size() - 1);
      buckets_[i] = {run_, owner};
    }
  }

  std::vector<Bucket> buckets_;
  std::vector<Owner> owners_;
  std::uint32_t run_ = 0;
  int shift_ = 0;  // of a hash, so that a place is left
};

/// Owners that requests write, to see whether any request meets another. Its
/// memory is used again.
///
/// Many requests of streams depend on no other. This table shows that without
/// their owners, by a word for each output and a lookup for each operand.
class WriteSet {
 public:
  /// Returns whether no request reads or writes what another one writes, by
  /// owners. Also false if one reduces, because it could share its loop over a
  /// row.
  bool are_independent(std::span<const Request> requests);

 private:
  void clear(std::size_t owners);
  /// The place of `owner`, or the free one where it belongs.
  const void*& place_of(const void* owner) noexcept {
    // The high bits are mixed well. Addresses have even distances.
    std::size_t i = static_cast<std::size_t>(
        reinterpret_cast<std::uint64_t>(owner) * 0x9e3779b97f4a7c15 >> shift_);
    while (places_[i] != nullptr && places_[i] != owner)
      i = (i + 1) & (places_.size() - 1);
    return places_[i];
  }
  bool add_outputs(std::span<const Request> requests);
  bool is_read_elsewhere(const Request& request) noexcept;

  std::vector<const void*> places_;  // a power of two; null: free
  int shift_ = 0;                    // of a hash, so that a place is left
};

struct RequestOwners {
  std::uint32_t out = kNone;
  std::array<std::uint32_t, kMaxRequestOperands> operands{};
};

/// The first analysis of all requests: their owners, whether these are
/// disjoint, and whether any request meets another. Disjoint rows or columns of
/// one allocation become owners of their own.
class AliasAnalysis {
 public:
  /// Finds the owners. `owners_are_disjoint`: as RequestRunner::run().
  void begin(const RequestArrays& arrays, bool owners_are_disjoint);
  /// Finds which owners overlap, and their parts.
  void finish(const RequestArrays& arrays, bool owners_are_disjoint);

  /// Empty if all are apart and that was known of the owners.
  OwnerTable& owners() noexcept { return owners_; }
  const RequestOwners& of(std::uint32_t request) const noexcept {
    return of_[request];
  }
  /// Two owners have memory in common and one of them is written to, so
  /// owners do not tell which requests depend on each other.
  bool has_overlaps() const noexcept { return has_overlaps_; }
  /// Returns whether no request reads or writes memory that another one writes,
  /// and none can share a loop over a row with another. Any order then gives
  /// the same.
  bool are_independent() const noexcept {
    return are_independent_ && !has_overlaps_;
  }

 private:
  struct Range {
    std::uint64_t low = ~std::uint64_t{0};
    std::uint64_t high = 0;
    bool is_written = false;
  };

  /// An array of an owner that has several.
  struct Part {
    std::uint32_t* owner = nullptr;    // of the array
    const TensorView* view = nullptr;  // null: without gaps
    std::uint64_t low = 0;             // its bytes
    std::uint64_t high = 0;
    DType dtype{};
    bool is_written = false;
    /// The parts of its owner that it meets.
    std::uint32_t first = ~std::uint32_t{0};
    std::uint32_t end = 0;

    /// Returns the most bytes between elements along an axis, but fewer than
    /// `limit`. 0: there is no such axis.
    std::uint64_t pitch_below(std::uint64_t limit) const noexcept;
    /// Returns the bytes of a row, if the rows are `pitch` apart.
    std::uint64_t row_of(std::uint64_t pitch) const noexcept;
  };

  void prefetch(const RequestArrays& arrays,
                std::size_t request) const noexcept;
  void find_owners(const RequestArrays& arrays);
  void find_ranges(const RequestArrays& arrays);
  void widen(std::uint32_t owner, const ByteRange& range);
  void find_overlaps(const RequestArrays& arrays);
  void divide_owners(const RequestArrays& arrays);
  void add_part(const RequestArrays& arrays, const ArrayElements& array,
                std::uint32_t& owner, bool is_written);
  void divide_owner(std::span<Part> parts);
  static std::uint32_t divide(std::span<Part> written,
                              std::span<Part* const> read, std::uint64_t limit,
                              std::uint32_t count);
  static std::uint64_t fold(std::span<Part> written, std::vector<Part*>& read,
                            std::vector<Part*>& across, std::uint64_t limit);

  WriteSet written_;
  OwnerTable owners_;
  std::vector<RequestOwners> of_;
  std::vector<Range> ranges_;
  std::vector<Part> parts_;
  bool has_parts_ = false;  // some owner has several arrays
  bool has_overlaps_ = false;
  bool are_independent_ = false;
};

}  // namespace gpuos::requests
