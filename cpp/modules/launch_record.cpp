#include "modules/launch_record.h"

#include <cstddef>
#include <exception>

namespace gpuos::cu {
namespace {

// Above this number of streams, finished streams are removed.
constexpr std::size_t kManyStreams = 64;

// Both handles name the same stream, which no graph captures.
bool is_legacy(CUstream stream) {
  return stream == nullptr || stream == CU_STREAM_LEGACY;
}

bool is_done(const Event& event) {
  return driver().cuEventQuery(event.get()) != CUDA_ERROR_NOT_READY;
}

}  // namespace

bool LaunchRecord::is_capturing(CUstream stream) noexcept {
  if (is_legacy(stream)) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  // If the query fails, the following launch reports the error.
  return driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void LaunchRecord::note(CUstream stream, bool is_captured) noexcept {
  if (is_captured) {
    is_captured_.store(true);
    return;
  }
  // It is nearly always set already. Then no other cache loses the line.
  if (is_legacy(stream)) {
    if (!uses_legacy_.load(std::memory_order_relaxed)) uses_legacy_.store(true);
    return;
  }
  if (!is_followed_.load(std::memory_order_relaxed)) return;
  try {
    const std::lock_guard lock(mutex_);
    if (behind_.size() >= kManyStreams)
      std::erase_if(behind_, [](const auto& e) { return is_done(e.second); });
    const bool is_of_thread = stream == CU_STREAM_PER_THREAD;
    Event& event = behind_[{
        stream, is_of_thread ? std::this_thread::get_id() : std::thread::id()}];
    if (!event) event = make_event();
    driver().cuEventRecord(event.get(), stream);
  } catch (const std::exception&) {
    return;
  }
}

bool LaunchRecord::have_ended() noexcept {
  const std::lock_guard lock(mutex_);
  if (!has_legacy_ended()) return false;
  std::erase_if(behind_, [](const auto& e) { return is_done(e.second); });
  return behind_.empty();
}

// Uses one event after all launches, recorded when there are no more.
bool LaunchRecord::has_legacy_ended() noexcept {
  if (!uses_legacy_.load()) return true;
  if (!behind_legacy_) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    // A stream that the legacy one waits for is being captured, and an event
    // would spoil its graph.
    if (driver().cuStreamIsCapturing(CU_STREAM_LEGACY, &status) ==
        CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
      return false;
    try {
      Event event = make_event();
      if (driver().cuEventRecord(event.get(), CU_STREAM_LEGACY) != CUDA_SUCCESS)
        return true;
      behind_legacy_ = std::move(event);
    } catch (const std::exception&) {
      return true;
    }
  }
  return is_done(behind_legacy_);
}

}  // namespace gpuos::cu
