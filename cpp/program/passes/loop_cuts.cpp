#include "program/passes/loop_cuts.h"

#include <algorithm>

#include "program/passes/source_text.h"

namespace gpuos::program {
namespace {

/// The most work of one loop: a long function and a few additions. Half of it
/// costs more loads and stores, and with twice of it the processor waits
/// (docs/lab/host.md).
constexpr std::size_t kMostWork = 20;

class LoopCutter {
 public:
  LoopCutter(const Pass& pass, std::size_t part,
             const std::vector<bool>& is_row)
      : pass_(pass), part_(pass.parts[part]), is_row_(is_row) {}

  LoopCuts cut() {
    find_loops();
    find_uses();
    for (std::size_t loop = 0; loop < begins_.size(); ++loop) give_arrays(loop);
    return std::move(cuts_);
  }

 private:
  struct Life {
    std::size_t made = 0;  // the loop that computes it
    std::size_t last = 0;  // the last loop that uses it
  };

  bool is_computed(std::uint32_t id) const {
    return pass_.steps[id].kind == Step::Kind::Compute;
  }

  void find_loops() {
    begins_ = {0};
    std::size_t work = 0;
    for (std::size_t place = 0; place < part_.size(); ++place) {
      const std::uint32_t id = part_[place];
      if (is_computed(id)) {
        const std::size_t more = work_of(pass_.steps[id]);
        if (work != 0 && work + more > kMostWork) {
          begins_.push_back(place);
          work = 0;
        }
        work += more;
      }
      const std::size_t loop = begins_.size() - 1;
      lives_[id] = {loop, loop};
    }
  }

  std::size_t end_of(std::size_t loop) const {
    return loop + 1 < begins_.size() ? begins_[loop + 1] : part_.size();
  }

  void find_uses() {
    for (std::size_t loop = 1; loop < begins_.size(); ++loop) {
      std::vector<std::uint32_t>& used = cuts_.before[begins_[loop]].used;
      for (std::size_t place = begins_[loop]; place < end_of(loop); ++place) {
        const Step& step = pass_.steps[part_[place]];
        for (std::size_t k = 0; k < operands_of(step); ++k) {
          const std::uint32_t id = step.operands[k];
          if (is_row_[id] || lives_.at(id).made == loop) continue;
          lives_.at(id).last = loop;
          if (std::ranges::find(used, id) == used.end()) used.push_back(id);
        }
      }
    }
  }

  /// An element of an array is read before another value takes its place.
  void give_arrays(std::size_t loop) {
    for (const auto& [id, array] : cuts_.array_of)
      if (lives_.at(id).last == loop) free_.push_back(array);
    for (std::size_t place = begins_[loop]; place < end_of(loop); ++place) {
      const std::uint32_t id = part_[place];
      if (!is_computed(id) || lives_.at(id).last == loop) continue;
      cuts_.array_of[id] = array_for(step_type(pass_.steps[id]));
      cuts_.before[end_of(loop)].kept.push_back(id);
    }
  }

  std::size_t array_for(Type type) {
    const auto free = std::ranges::find(
        free_, type, [&](std::size_t array) { return cuts_.arrays[array]; });
    if (free == free_.end()) {
      cuts_.arrays.push_back(type);
      return cuts_.arrays.size() - 1;
    }
    const std::size_t array = *free;
    free_.erase(free);
    return array;
  }

  const Pass& pass_;
  const std::vector<std::uint32_t>& part_;
  const std::vector<bool>& is_row_;
  std::vector<std::size_t> begins_;  // of the loops, in the part
  std::map<std::uint32_t, Life> lives_;
  std::vector<std::size_t> free_;  // arrays
  LoopCuts cuts_;
};

}  // namespace

LoopCuts cut_loop(const Pass& pass, std::size_t part,
                  const std::vector<bool>& is_row) {
  return LoopCutter(pass, part, is_row).cut();
}

}  // namespace gpuos::program
