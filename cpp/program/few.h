#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <initializer_list>

namespace gpuos::program {

/// A vector of at most `kMost` values in place. It does not allocate, because
/// it is made for every step of a pass.
template <typename T, std::size_t kMost>
class Few {
 public:
  Few() = default;
  Few(std::initializer_list<T> values) {
    for (const T& value : values) push_back(value);
  }

  void push_back(const T& value) {
    assert(count_ < kMost);
    values_[count_++] = value;
  }

  std::size_t size() const noexcept { return count_; }
  bool empty() const noexcept { return count_ == 0; }
  const T& operator[](std::size_t i) const { return values_[i]; }
  const T& back() const { return values_[count_ - 1]; }
  const T* begin() const noexcept { return values_.data(); }
  const T* end() const noexcept { return values_.data() + count_; }

 private:
  std::array<T, kMost> values_{};
  std::size_t count_ = 0;
};

}  // namespace gpuos::program
