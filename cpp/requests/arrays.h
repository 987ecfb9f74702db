#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gpuos/requests.h"
#include "gpuos/tensor_view.h"

namespace gpuos::requests {

/// The elements that a request reads or writes.
struct Array {
  std::uint64_t address = 0;
  std::uint64_t elems = 0;
  std::uint32_t view = Request::kFlat;  // kFlat: in C order without gaps
  DType dtype{};
};

/// The arrays of requests and their views.
class Arrays {
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

  Array output(std::uint32_t index) const noexcept;
  /// Returns an operand that is an array. `arrays` counts the arrays before it.
  Array operand(std::uint32_t index, std::size_t place,
                std::uint32_t arrays) const noexcept;

  /// Returns whether both are the same elements in the same places.
  bool is_same(const Array& a, const Array& b) const noexcept;
  ByteRange range_of(const Array& array) const noexcept;

 private:
  Array array(const Request& request, std::uint64_t address, DType dtype,
              std::uint32_t place) const noexcept;

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

inline Array Arrays::array(const Request& request, std::uint64_t address,
                           DType dtype, std::uint32_t place) const noexcept {
  if (request.views == Request::kFlat)
    return {address, request.elems, Request::kFlat, dtype};
  const std::uint32_t at = request.views + place;
  const bool is_flat = views_[at].is_contiguous();
  return {address, static_cast<std::uint64_t>(views_[at].size()),
          is_flat ? Request::kFlat : at, dtype};
}

inline Array Arrays::output(std::uint32_t index) const noexcept {
  const Request& request = requests_[index];
  return array(request, reinterpret_cast<std::uint64_t>(request.out),
               request.out_dtype, 0);
}

inline Array Arrays::operand(std::uint32_t index, std::size_t place,
                             std::uint32_t arrays) const noexcept {
  const Request& request = requests_[index];
  return array(request, request.values[place], request.dtypes[place],
               1 + arrays);
}

}  // namespace gpuos::requests
