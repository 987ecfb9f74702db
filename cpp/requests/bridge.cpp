#include "gpuos/bridge.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <span>

#include "base/processors.h"
#include "gpuos/runtime.h"

namespace gpuos {
namespace {

struct Handle {
  explicit Handle(Runtime& of) : runtime(of), runner(of) {}

  Runtime& runtime;
  RequestRunner runner;
};

void write_reason(const char* reason, char* error, std::size_t error_bytes) {
  if (error == nullptr || error_bytes == 0) return;
  const std::size_t length = std::min(std::strlen(reason), error_bytes - 1);
  std::memcpy(error, reason, length);
  error[length] = '\0';
}

// Calls `function` and returns its result. Its exception is written to `error`.
template <typename Function>
BridgeResult guard(char* error, std::size_t error_bytes, Function function) {
  try {
    return function();
  } catch (const std::exception& failure) {
    write_reason(failure.what(), error, error_bytes);
  } catch (...) {
    write_reason("unknown failure", error, error_bytes);
  }
  return BridgeResult::Failed;
}

void* create(Runtime* runtime, char* error, std::size_t error_bytes) {
  Handle* made = nullptr;
  guard(error, error_bytes, [&] {
    made = new Handle(*runtime);
    return BridgeResult::Done;
  });
  return made;
}

void destroy(void* runner) { delete static_cast<Handle*>(runner); }

BridgeResult run(void* runner, const Request* requests,
                 std::size_t request_count, const TensorView* views,
                 std::size_t view_count, StillNeeded needed, void* stream,
                 bool has_stream, bool owners_are_disjoint, char* error,
                 std::size_t error_bytes) {
  return guard(error, error_bytes, [&] {
    Handle& handle = *static_cast<Handle*>(runner);
    const Stream on = has_stream ? Stream(stream) : Stream();
    const auto launch = [&] { handle.runtime.flush(on); };
    try {
      handle.runner.run(std::span(requests, request_count),
                        std::span(views, view_count), needed, on,
                        owners_are_disjoint);
    } catch (...) {
      launch();  // what was submitted before the failure
      throw;
    }
    launch();
    return BridgeResult::Done;
  });
}

BridgeResult synchronize(void* runner, std::int64_t timeout_ns, char* error,
                         std::size_t error_bytes) {
  return guard(error, error_bytes, [&] {
    const bool is_done = static_cast<Handle*>(runner)->runtime.synchronize(
        std::chrono::nanoseconds(timeout_ns));
    return is_done ? BridgeResult::Done : BridgeResult::TimedOut;
  });
}

RequestStats stats(const void* runner) {
  return static_cast<const Handle*>(runner)->runner.stats();
}

constexpr BridgeTable kTable{.create = create,
                             .destroy = destroy,
                             .run = run,
                             .synchronize = synchronize,
                             .stats = stats,
                             .processors = usable_processors};

}  // namespace

const BridgeTable& bridge_table() noexcept { return kTable; }

}  // namespace gpuos
