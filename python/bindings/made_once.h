#pragma once

namespace gpuos::python {

/// What `make` gives, made by the first call and kept until the process ends.
///
/// Not by an initialisation that C++ guards: what makes it may let another
/// thread in, which would wait there with the GIL, or with the lock that stands
/// for it, that the first one needs.
template <typename Make>
const auto& made_once(Make make) {
  using Made = decltype(make());
  static const Made* kept = nullptr;
  if (kept == nullptr) [[unlikely]] {
    const Made* made = new Made(make());
    if (kept == nullptr) kept = made;  // else another thread was quicker
  }
  return *kept;
}

}  // namespace gpuos::python
