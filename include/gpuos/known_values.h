#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "gpuos/export.h"
#include "gpuos/requests.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

/// Follows small values on the host, so that a program can read them without
/// running its requests. It computes a request itself if it knows the operands,
/// and if each operation has the same bits on every device.
///
/// Threads: one at a time.
class GPUOS_API KnownValues {
 public:
  /// Results of more elements are not computed.
  static constexpr std::uint64_t kMostElems = 64;
  /// Values fill at most this many bytes of one owner.
  static constexpr std::size_t kMostBytes = 4096;

  /// `reads_memory`: the host may read memory that no taken request writes.
  explicit KnownValues(bool reads_memory);
  ~KnownValues();
  KnownValues(const KnownValues&) = delete;
  KnownValues& operator=(const KnownValues&) = delete;

  /// Takes the next requests in order.
  void take(std::span<const Request> requests,
            std::span<const TensorView> views);
  /// Returns whether the result of `request` follows from its operands: it is
  /// small, and each operation has the same bits everywhere.
  bool computes(const Request& request, std::span<const TensorView> views);

  /// Notes what is in memory of `owner` from `address` on.
  void set(const void* owner, const void* address,
           std::span<const std::byte> values);
  /// Returns the values, or nothing if one of them is not known.
  std::span<const std::byte> find(const void* owner, const void* address,
                                  std::size_t bytes) const;
  /// Returns whether a part of the memory of `owner` is known.
  bool has(const void* owner) const;

  /// Forgets memory that something else may write.
  void forget(const void* owner);
  void clear();

 private:
  class GPUOS_PRIVATE Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuos
