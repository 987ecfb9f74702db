#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace gpuos::session {

/// Records how to undo the changes of one cell.
class Journal {
 public:
  void record(std::function<void()> inverse) {
    inverses_.push_back(std::move(inverse));
  }
  /// Records the value of a map for a key, or that it has none.
  /// Lifetime: the map outlives the journal.
  template <typename Map>
  void record_value(Map& map, const typename Map::key_type& key) {
    if (const auto old = map.find(key); old != map.end())
      record([&map, key, before = old->second] { map[key] = before; });
    else
      record([&map, key] { map.erase(key); });
  }
  /// Takes the records of another journal as the newer part.
  void append(Journal&& newer) {
    for (auto& inverse : newer.inverses_) record(std::move(inverse));
    newer.inverses_.clear();
  }
  void roll_back() {
    while (!inverses_.empty()) {
      inverses_.back()();
      inverses_.pop_back();
    }
  }

 private:
  std::vector<std::function<void()>> inverses_;
};

/// Holds a trial, whose changes are undone at the end of its block.
struct Trial {
  Trial() = default;
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() { journal.roll_back(); }

  Journal journal{};
};

}  // namespace gpuos::session
