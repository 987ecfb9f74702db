#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/program.h"
#include "gpuos/program_functions.h"
#include "gpuos/program_ops.h"
#include "gpuos/program_reductions.h"
#include "gpuos/stream.h"
#include "gpuos/tensor_view.h"

namespace gpuos {

class Runtime;

inline constexpr std::size_t kMaxRequestOperands = 4;

/// A function of requests: a subgraph that is built into programs. Requests of
/// one function share programs, so it is a constant of the caller.
struct RequestFunction {
  enum class Kind : std::uint8_t {
    Elementwise,
    Rows,       // the result has the shape of the first operand
    Reduction,  // the result has one element for each row
    Whole       // a ProgramFunction
  };

  Kind kind = Kind::Elementwise;
  std::uint8_t conditions = 0;  // a bit for each operand that is cast to bool
  /// The operation if the function is only that, or Op::Cast for a copy. A
  /// built-in operator may run it.
  Op op = Op::Input;
  /// Builds the result of an elementwise function.
  Value (*of_elements)(std::span<const Value> operands) = nullptr;
  /// Builds the result of a function of rows.
  Value (*of_rows)(std::span<const Value> operands, const Axes& axes,
                   bool keepdims) = nullptr;

  bool is_of_rows() const noexcept {
    return kind == Kind::Rows || kind == Kind::Reduction;
  }
};

/// A function with a program of its own. Operands and results have shapes of
/// their own, as the program requires, and nothing is cast. Its result is
/// inserted into programs of several requests, which hold the function.
struct ProgramFunction : RequestFunction,
                         std::enable_shared_from_this<ProgramFunction> {
  /// `result` is the only output of `program`, from its builder.
  ProgramFunction(Program of, Value made)
      : RequestFunction{.kind = Kind::Whole},
        program(std::move(of)),
        result(std::move(made)) {}

  Program program;
  Value result;
};

/// The functions of the vocabulary.
template <Op kOp>
inline constexpr RequestFunction kRequestFunction{
    .op = kOp, .of_elements = [](std::span<const Value> operands) {
      if constexpr (info_of(kOp).operands == 1)
        return elementwise(kOp, {operands[0]});
      else
        return elementwise(kOp, {operands[0], operands[1]});
    }};
/// A copy. Its operand may be a number.
inline constexpr RequestFunction kCopyFunction{
    .op = Op::Cast,
    .of_elements = [](std::span<const Value> operands) { return operands[0]; }};

/// Describes one pending operation. A bridge writes it in nanoseconds and has
/// checked it completely.
///
/// Each operand is cast to `compute` (conditions to bool), the function
/// computes in `compute`, and the result is cast to `out_dtype`.
///
/// Arrays of different owners are different memory. If two owners overlap and
/// one is written, requests run one by one in order.
struct Request {
  static constexpr std::uint32_t kFlat = 0xffffffff;

  const RequestFunction* function = nullptr;
  std::uint8_t operands = 0;  // 1 to 4
  std::uint8_t numbers = 0;   // a bit for each operand that is a number
  std::uint8_t integers = 0;  // a bit for each number that is an int64
  bool is_fresh = false;      // the output's memory is new and not shared
  DType compute{};            // of numbers too
  DType out_dtype{};
  std::array<DType, kMaxRequestOperands> dtypes{};  // of the operands' memory
  /// For functions of rows: a bit for each reduced axis, and whether these axes
  /// stay with size 1.
  std::uint8_t axes = 0;
  bool keepdims = false;
  /// kFlat: every array is contiguous with `elems` elements. Otherwise this is
  /// the index of the output's TensorView. Only its shape and strides are read.
  /// The views of the array operands follow it.
  /// Elementwise: all have the output's shape (broadcast operands with strides
  /// 0). Other functions: each has its own, and none is flat.
  std::uint32_t views = kFlat;
  std::uint64_t elems = 0;  // of the output; nothing is written if 0
  void* out = nullptr;      // null: StillNeeded::place() says it
  /// The owner of the output's memory, equal for all arrays of one allocation.
  const void* out_owner = nullptr;
  /// An address, or the bits of a double or an int64. A result that has no
  /// address yet has 0. Arrays of a ProgramFunction come before its numbers,
  /// which are addresses of Scalars.
  std::array<std::uint64_t, kMaxRequestOperands> values{};
  std::array<const void*, kMaxRequestOperands> owners{};  // null for numbers
};
static_assert(std::is_trivially_copyable_v<Request>);

inline bool is_row_function(const Request& request) noexcept {
  return request.function->is_of_rows();
}
inline bool is_elementwise(const Request& request) noexcept {
  return request.function->kind == RequestFunction::Kind::Elementwise;
}
inline bool is_whole(const Request& request) noexcept {
  return request.function->kind == RequestFunction::Kind::Whole;
}
inline bool is_reducing(const Request& request) noexcept {
  return request.function->kind == RequestFunction::Kind::Reduction;
}

/// Answers, once for each owner of a fresh output while requests run, whether
/// its memory may still be read. The `uses` operands and outputs of these
/// requests do not count. If the answer is no, results in it that only these
/// requests read are never written.
struct StillNeeded {
  bool (*ask)(void* context, const void* owner, std::uint32_t uses) = nullptr;
  void* context = nullptr;  // ask == nullptr: everything is needed
  /// Returns memory for a result that is going to be written, which had no
  /// address. May throw.
  void* (*place)(void* context, const void* owner) = nullptr;
  /// Takes the error of a request. It is null if an operand was not computed.
  /// The other requests run, and run() does not throw. Without it run() throws.
  void (*fail)(void* context, const void* owner,
               const std::exception_ptr& error) noexcept = nullptr;
  /// Takes each program that is submitted, with the owners of its requests'
  /// outputs in their order. The scalars of whole functions are the numbers of
  /// their requests in this order.
  void (*note)(void* context, const Program& program,
               std::span<const void* const> owners,
               std::span<const TensorView> inputs,
               std::span<const TensorView> outputs) = nullptr;
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

  /// Submits all requests. Does not wait for results, and does not launch
  /// pending bursts as Runtime::flush() does. `owners_lie_apart`: the owners
  /// are known to be disjoint, so they are not compared.
  /// Throws: as Runtime::submit(). If a request is refused, the requests that
  /// read memory of its output's owner are dropped too. The others run, and the
  /// first InvalidArgument is thrown. After any other error some of the other
  /// tasks were submitted, and none that depends on the failed one.
  void run(std::span<const Request> requests, std::span<const TensorView> views,
           StillNeeded needed = {}, Stream stream = {},
           bool owners_lie_apart = false);

  RequestStats stats() const;

  /// Returns the number of processors that this process may use. Another thread
  /// that calls run() needs one.
  static std::uint32_t processors() noexcept;

 private:
  class GPUOS_PRIVATE Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gpuos
