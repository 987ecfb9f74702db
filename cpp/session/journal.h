#pragma once

#include <functional>
#include <utility>
#include <vector>

namespace gpuos::session {

/// How to take back what one cell did.
class Journal {
 public:
  void record(std::function<void()> inverse) {
    inverses_.push_back(std::move(inverse));
  }
  /// Takes what another one has, as the newer part.
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

/// A trial, whose changes are undone at the end of its block.
struct Trial {
  Trial() = default;
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;
  ~Trial() { journal.roll_back(); }

  Journal journal{};
};

}  // namespace gpuos::session
