#include "requests/written.h"

#include <algorithm>

#include "requests/arrays.h"

namespace gpuos::requests {

void Written::clear(std::size_t owners) {
  // A fourth is taken at most: who finds a free place has one look.
  places_.assign(std::max<std::size_t>(std::bit_ceil(4 * owners), 64), nullptr);
  shift_ = std::countl_zero(places_.size()) + 1;
}

bool Written::add_outputs(std::span<const Request> requests) {
  clear(requests.size());
  for (std::size_t r = 0; r < requests.size(); ++r) {
    prefetch_later(requests, r);
    const Request& request = requests[r];
    if (is_reducing(request.recipe) || request.out_owner == nullptr)
      return false;
    const void*& place = place_of(request.out_owner);
    if (place != nullptr) return false;
    place = request.out_owner;
  }
  return true;
}

bool Written::is_read_elsewhere(const Request& request) noexcept {
  for (std::size_t i = 0; i < request.operands; ++i) {
    const void* owner = request.owners[i];
    if (!is_number(request, i) && owner != request.out_owner &&
        place_of(owner) != nullptr)
      return true;
  }
  return false;
}

bool Written::are_independent(std::span<const Request> requests) {
  return add_outputs(requests) &&
         std::ranges::none_of(requests, [this](const Request& request) {
           return is_read_elsewhere(request);
         });
}

}  // namespace gpuos::requests
