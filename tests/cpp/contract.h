#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "deadlines.h"
#include "gpuos/gpuos.h"
#include "views.h"

namespace gpuos {

/// An array in the memory of a runtime's backend.
template <typename T>
class DeviceArray {
 public:
  DeviceArray(Runtime& runtime, const std::vector<T>& values)
      : runtime_(&runtime),
        size_(values.size()),
        buffer_(runtime.allocate(values.size() * sizeof(T))) {
    write(values);
  }
  DeviceArray(Runtime& runtime, std::size_t size, T value = {})
      : DeviceArray(runtime, std::vector<T>(size, value)) {}

  T* data() const { return static_cast<T*>(buffer_.get()); }
  std::size_t size() const { return size_; }

  TensorView view() const { return view(0, size_); }
  TensorView view(std::size_t first, std::size_t count) const {
    return {data() + first, static_cast<std::int64_t>(count)};
  }
  Column column(std::size_t step_elems) const {
    return {nullptr, reinterpret_cast<std::uint64_t>(data()),
            static_cast<std::int64_t>(step_elems * sizeof(T))};
  }

  void write(const std::vector<T>& values) {
    runtime_->copy_to_device(data(), values.data(), size_ * sizeof(T));
  }
  /// Returns the values after all tasks submitted so far.
  std::vector<T> read() const {
    std::vector<T> values(size_);
    runtime_->copy_to_host(values.data(), data(), size_ * sizeof(T));
    return values;
  }

 private:
  Runtime* runtime_;
  std::size_t size_;
  Buffer buffer_;
};

/// One contract, run on each backend.
class Contract : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    try {
      runtime_ = std::make_unique<Runtime>(options());
    } catch (const BackendUnavailable& error) {
      if (std::getenv("GPUOS_TEST_CUDA") != nullptr) throw;
      GTEST_SKIP() << error.what();
    }
  }

  RuntimeOptions options() const {
    RuntimeOptions options;
    options.backend = GetParam();
    return options;
  }
  bool is_host() const { return GetParam() == "host"; }
  Runtime& runtime() { return *runtime_; }
  void restart(const RuntimeOptions& options) {
    runtime_.reset();
    runtime_ = std::make_unique<Runtime>(options);
  }
  void synchronize() { ASSERT_TRUE(runtime().synchronize(kDeadline)); }

  /// Keeps one worker busy for some tenths of a second: busy(rounds) -> out.
  Operator define_busy() {
    return runtime().define(
        {.name = "busy",
         .source = "GPUOS_OPERATOR(busy) {\n"
                   "  volatile float* out = task.pointer<volatile float>(0);\n"
                   "  const long long rounds = task.scalar<long long>(1);\n"
                   "  if (lane.index() != 0) return;\n"
                   "  for (long long r = 0; r < rounds; ++r) {\n"
                   "    out[0] = out[0] + 1.0f;\n"
                   "  }\n"
                   "}",
         .params = {{"rounds", DType::Int64}},
         .inputs = 0,
         .elementwise = false});
  }
  std::int64_t busy_rounds() const { return is_host() ? 100'000'000 : 500'000; }

  std::unique_ptr<Runtime> runtime_;
};

/// Returns tasks of `size` elements each.
inline ManyTasks many_of(std::size_t tasks, std::int64_t size,
                         DType dtype = DType::Int32) {
  ManyTasks many;
  many.tasks = tasks;
  many.dtype = dtype;
  many.size = size;
  return many;
}

inline std::string backend_name(
    const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

#define GPUOS_INSTANTIATE_CONTRACT(suite)                                    \
  INSTANTIATE_TEST_SUITE_P(Backends, suite, testing::Values("host", "cuda"), \
                           backend_name)

inline std::string residency_name(
    const testing::TestParamInfo<Residency>& info) {
  switch (info.param) {
    case Residency::Resident:
      return "resident";
    case Residency::Burst:
      return "burst";
    default:
      return "auto";
  }
}

#define GPUOS_FOR_EACH_RESIDENCY(suite)                                        \
  INSTANTIATE_TEST_SUITE_P(                                                    \
      Residencies, suite,                                                      \
      testing::Values(Residency::Auto, Residency::Resident, Residency::Burst), \
      residency_name)

}  // namespace gpuos
