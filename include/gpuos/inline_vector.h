#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>

namespace gpuos {

/// Holds at most N objects of a plain type and makes them only when needed.
/// Unused room costs nothing.
template <typename T, std::size_t N>
class InlineVector {
 public:
  // Takes a function that makes the item, so that it is made in its place.
  template <typename Make>
  const T& add(Make make) {
    void* place = storage_.data() + sizeof(T) * count_++;
    return *::new (place) T(make());
  }
  std::span<const T> view() const noexcept {
    return {reinterpret_cast<const T*>(storage_.data()), count_};
  }

 private:
  static_assert(std::is_trivially_destructible_v<T>);

  std::size_t count_ = 0;
  alignas(T) std::array<std::byte, N * sizeof(T)> storage_;
};

}  // namespace gpuos
