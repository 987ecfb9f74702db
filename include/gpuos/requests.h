#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/recipes.h"
#include "gpuos/stream.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

class Runtime;

inline constexpr std::size_t kMaxRequestOperands = 4;

/// Describes one pending operation with PyTorch's meaning. A bridge writes it
/// in nanoseconds and has checked it completely.
///
/// Elementwise recipes: each operand is cast to `compute` (conditions and masks
/// to bool), the recipe computes in `compute`, and the result is cast to
/// `out_dtype`.
///
/// Arrays of different owners are different memory. If two owners overlap and
/// one is written, requests run one by one in order.
struct Request {
  static constexpr std::uint32_t kFlat = 0xffffffff;

  Recipe recipe{};
  std::uint8_t operands = 0;  // 1 to 4
  std::uint8_t numbers = 0;   // a bit for each operand that is a number
  std::uint8_t integers = 0;  // a bit for each number that is an int64
  bool is_fresh = false;      // the output's memory is new and not shared
  DType compute{};            // of numbers too
  DType out_dtype{};
  std::array<DType, kMaxRequestOperands> dtypes{};  // of the operands' memory
  /// For row recipes: a bit for each reduced axis, and whether these axes stay
  /// with size 1.
  std::uint8_t axes = 0;
  bool keepdims = false;
  /// kFlat: every array is contiguous with `elems` elements. Otherwise this is
  /// the index of the output's TensorView. Only its shape and strides are read.
  /// The views of the array operands follow it.
  /// Elementwise: all have the output's shape (broadcast operands with strides
  /// 0). Row recipes: each has its own, and none is flat.
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

/// Answers, once for each owner of a fresh output while requests run, whether
/// its memory may still be read. The `uses` operands and outputs of these
/// requests do not count. If the answer is no, results in it that only these
/// requests read are never written.
struct StillNeeded {
  bool (*ask)(void* context, const void* owner, std::uint32_t uses) = nullptr;
  void* context = nullptr;  // ask == nullptr: everything is needed
};

struct RequestStats {
  std::uint64_t requests = 0;
  std::uint64_t runs = 0;       // calls of run() with at least one request
  std::uint64_t tasks = 0;      // operators and programs submitted
  std::uint64_t programs = 0;   // different programs that were built
  std::uint64_t unwritten = 0;  // results that were never needed
  std::uint64_t compiling = 0;  // passes of programs, now or soon
};

/// Runs pending requests as few tasks: chains of elementwise requests over one
/// shape become one program. The results equal those of separate requests.
/// Independent requests may be reordered.
///
/// Threads: one at a time. Lifetime: not longer than the runtime's. Memory must
/// stay valid as for Runtime::submit().
class GPUOS_API RequestRunner {
 public:
  explicit RequestRunner(Runtime& runtime);
  ~RequestRunner();
  RequestRunner(const RequestRunner&) = delete;
  RequestRunner& operator=(const RequestRunner&) = delete;

  /// Submits all requests and launches pending bursts of `stream`. Does not
  /// wait for results. `owners_lie_apart`: the owners are known to be disjoint,
  /// so they are not compared.
  /// Throws: as Runtime::submit(). If a request is refused, the requests that
  /// read memory of its output's owner are dropped too. The others run, and the
  /// first InvalidArgument is thrown. After any other error some of the other
  /// tasks were submitted, and none that depends on the failed one.
  void run(std::span<const Request> requests, std::span<const TensorView> views,
           StillNeeded needed = {}, Stream stream = {},
           bool owners_lie_apart = false);

  RequestStats stats() const;

 private:
  class GPUOS_PRIVATE Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuos
