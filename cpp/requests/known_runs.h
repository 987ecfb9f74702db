#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpuos/program.h"
#include "gpuos/requests.h"
#include "gpuos/tensor_view.h"
#include "requests/alias_analysis.h"

namespace gpuos::requests {

/// An operand of a request, or its output.
struct RequestPlace {
  static constexpr std::uint8_t kOut = 0xff;

  std::uint32_t request = 0;
  std::uint8_t place = kOut;
};

/// A task as it was submitted: a program, or a built-in operator that runs the
/// request of `out` alone.
struct KnownTask {
  struct Array {
    TensorView form{};  // without its address
    RequestPlace of{};
  };

  Program program{};
  std::vector<Array> inputs{};
  std::vector<Array> outputs{};
  std::vector<RequestPlace> numbers{};
  bool is_later = false;  // it may read results of the tasks before it
};

/// The tasks of a run.
struct KnownRun {
  std::vector<KnownTask> tasks{};
  /// Numbers that are one number of a program, so that they must be equal.
  std::vector<std::pair<RequestPlace, RequestPlace>> equal{};
  std::uint64_t unwritten = 0;
};

/// Remembers the tasks of runs. A loop gives the same functions with the same
/// links again and again, and then their analysis would find the same tasks.
/// This saves a third of what an operation of a loop costs the host.
///
/// Words describe all that decides the tasks: functions, dtypes, sizes, which
/// arrays are the same, and which results are needed. No address and no number
/// decides.
class KnownRuns {
 public:
  /// Returns the tasks of these requests, or null. Their owners lie apart, and
  /// `aliases` has found them.
  const KnownRun* find(const RequestArrays& arrays, AliasAnalysis& aliases,
                       const StillNeeded& needed);
  /// Returns whether the run that find() did not know should be kept.
  bool wants() const noexcept { return is_wanted_; }
  /// Keeps the tasks of the run that find() did not know.
  void keep(KnownRun&& run);

 private:
  using Words = std::vector<std::uint64_t>;
  struct Hash {
    std::size_t operator()(const Words& words) const noexcept;
  };

  /// Runs that never repeat must not fill the memory: 16 MiB.
  static constexpr std::size_t kMostWords = std::size_t{1} << 21;
  /// After so many unknown runs in a row, only one of so many is looked up.
  static constexpr std::uint32_t kMostUnknown = 16;

  /// Returns false for functions that may end before this object.
  bool describe(const RequestArrays& arrays, AliasAnalysis& aliases,
                const StillNeeded& needed);
  void add_array(const Owner& owner, std::uint32_t index, DType dtype,
                 std::uint64_t address);
  void add_view(const TensorView& view);

  std::unordered_map<Words, KnownRun, Hash> runs_;
  Words words_;
  std::size_t kept_words_ = 0;  // of all runs, with their arrays
  std::uint32_t unknown_ = 0;   // in a row
  bool is_wanted_ = false;
};

}  // namespace gpuos::requests
