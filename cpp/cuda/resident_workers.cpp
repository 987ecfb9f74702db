#include "cuda/resident_workers.h"

#include <algorithm>

#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

/// Long enough for tasks that wait for one another.
constexpr u64 kBriefLingerNs = 10'000;

}  // namespace

ResidentWorkers::ResidentWorkers(const WorkerKernel& kernel,
                                 const abi::Queue& queue,
                                 const RuntimeOptions& options,
                                 std::uint32_t workers)
    : kernel_(kernel),
      workers_(workers),
      threads_(options.threads_per_worker),
      left_(sizeof(u64)),
      state_(sizeof(abi::ResidencyState)),
      claims_(workers * sizeof(u64)),
      stream_(make_stream()),
      park_stream_(make_stream()) {
  launch_.queue = queue;
  launch_.table = kernel.table();
  launch_.mode = abi::kResident;
  launch_.state = state_.as<abi::ResidencyState>();
  launch_.claims = claims_.as<u64>();
  launch_.left = left_.as<u64>();
  using std::chrono::nanoseconds;
  linger_ns_ = static_cast<u64>(nanoseconds(options.linger).count());
  launch_.lease_ns = static_cast<u64>(nanoseconds(options.lease).count());
}

void ResidentWorkers::launch(bool is_brief) {
  launch_.linger_ns =
      is_brief ? std::min(linger_ns_, kBriefLingerNs) : linger_ns_;
  launch_.residency = number_.load() + 1;
  kernel_.launch(launch_, workers_, threads_, stream_.get());
  number_.store(launch_.residency);
}

void ResidentWorkers::request_park() {
  const CUdeviceptr park =
      state_.address() + offsetof(abi::ResidencyState, park);
  // A stream write needs no multiprocessor, so it arrives while workers fill
  // them all. A number that has left already is ignored.
  if (driver().cuStreamWriteValue64 == nullptr)
    throw BackendUnavailable(
        "cuda: expected a driver with stream memory operations (CUDA 11.7); "
        "install a newer one");
  GPUOS_CUDA_CHECK(driver().cuStreamWriteValue64(
      park_stream_.get(), park, number_.load(), CU_STREAM_WRITE_VALUE_DEFAULT));
}

void ResidentWorkers::abandon() noexcept {
  left_.abandon();
  state_.abandon();
  claims_.abandon();
  static_cast<void>(new Stream(std::move(stream_)));
  static_cast<void>(new Stream(std::move(park_stream_)));
}

}  // namespace gpuos::cu
