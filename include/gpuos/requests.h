#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "gpuos/dtype.h"
#include "gpuos/recipes.h"
#include "gpuos/stream.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

class Runtime;

inline constexpr std::size_t kMaxRequestOperands = 4;

/// One operation that waits to be run, with PyTorch's meaning. A plain value
/// that a bridge writes in nanoseconds; everything in it was checked by whoever
/// wrote it.
///
/// Elementwise recipes: each operand is cast to `compute` (conditions and masks
/// to bool), the recipe computes in `compute`, and the result is cast to
/// `out_dtype`.
///
/// Arrays of different owners lie in different memory. Where that is not so
/// and one of them is written to, requests run in order but one by one.
struct Request {
  static constexpr std::uint32_t kFlat = 0xffffffff;

  Recipe recipe{};
  std::uint8_t operands = 0;  // 1 to 4
  std::uint8_t numbers = 0;   // a bit for each operand that is a number
  std::uint8_t integers = 0;  // a bit for each number that is an int64
  bool is_fresh = false;      // the output's memory is new: nobody else has it
  DType compute{};            // of numbers too
  DType out_dtype{};
  std::array<DType, kMaxRequestOperands> dtypes{};  // of the operands' memory
  /// Row recipes: a bit for each axis that is reduced, and whether those axes
  /// stay with size 1.
  std::uint8_t axes = 0;
  bool keepdims = false;
  /// kFlat: every array has `elems` elements in C order without gaps. Else
  /// the index of the output's TensorView, of which only shape and strides are
  /// read; those of the array operands follow.
  /// Elementwise: all have the output's shape (broadcast operands with
  /// strides 0). Row recipes: each has its own, and none is flat.
  std::uint32_t views = kFlat;
  std::uint64_t elems = 0;  // of the output; nothing is written if 0
  void* out = nullptr;
  /// The owner of the output's memory, equal for all arrays of one allocation.
  const void* out_owner = nullptr;
  /// An address, or the bits of a double or an int64.
  std::array<std::uint64_t, kMaxRequestOperands> values{};
  std::array<const void*, kMaxRequestOperands> owners{};  // null for numbers
};
static_assert(std::is_trivially_copyable_v<Request>);

/// Asked once for each owner of a fresh output while requests are run: whether
/// anybody but the `uses` operands and outputs of these requests may still look
/// at its memory. If not, results in it that only these requests read
/// are never written.
struct StillNeeded {
  bool (*ask)(void* context, const void* owner, std::uint32_t uses) = nullptr;
  void* context = nullptr;  // ask == nullptr: everything is needed
};

struct RequestStats {
  std::uint64_t requests = 0;
  std::uint64_t runs = 0;       // calls of run() with at least one request
  std::uint64_t tasks = 0;      // operators and programs submitted
  std::uint64_t programs = 0;   // different programs that were built
  std::uint64_t unwritten = 0;  // results that nobody needed
  std::uint64_t compiling = 0;  // passes of programs, now or soon
};

/// Runs waiting requests as few tasks: chains of elementwise requests over one
/// shape become one program. The results are those of the requests one by one;
/// what does not depend on each other may change places.
///
/// Threads: one at a time. Lifetime: not longer than the runtime's. Memory must
/// stay valid as for Runtime::submit().
class RequestRunner {
 public:
  explicit RequestRunner(Runtime& runtime);
  ~RequestRunner();
  RequestRunner(const RequestRunner&) = delete;
  RequestRunner& operator=(const RequestRunner&) = delete;

  /// Submits all and launches what waits for a burst in `stream`; does not wait
  /// for results. `owners_lie_apart`: it is known that no two of them have
  /// memory in common, so nobody needs to look.
  /// Throws: as Runtime::submit(). A request that is refused takes along only
  /// those that read memory of its output's owner, then the others are run and
  /// the first InvalidArgument is thrown. After any other error some of the
  /// other tasks were submitted, and nothing that depends on the one that
  /// failed.
  void run(std::span<const Request> requests, std::span<const TensorView> views,
           StillNeeded needed = {}, Stream stream = {},
           bool owners_lie_apart = false);

  RequestStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuos
