// The programs of this folder share this.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "gpuos/gpuos.h"

/// Floats in the memory of the runtime's backend, seen as blocks of one size.
class Blocks {
 public:
  Blocks(gpuos::Runtime& runtime, std::size_t count, std::size_t size,
         float value = 0)
      : runtime_(runtime),
        count_(count),
        size_(size),
        buffer_(runtime.allocate(count * size * sizeof(float))) {
    const std::vector<float> values(count * size, value);
    runtime.copy_to_device(buffer_.get(), values.data(),
                           values.size() * sizeof(float));
  }

  gpuos::TensorView operator[](std::size_t block) const {
    return {static_cast<float*>(buffer_.get()) + block * size_,
            static_cast<std::int64_t>(size_)};
  }

  /// Elements that are not `expected(block)`, after the tasks submitted so far.
  template <typename Expected>
  std::size_t wrong(Expected expected) const {
    std::vector<float> values(count_ * size_);
    runtime_.copy_to_host(values.data(), buffer_.get(),
                          values.size() * sizeof(float));
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      wrong += values[i] != expected(i / size_);
    return wrong;
  }

 private:
  gpuos::Runtime& runtime_;
  std::size_t count_;
  std::size_t size_;
  gpuos::Buffer buffer_;
};

/// Runs `program` with a runtime on the backend that `--backend` names.
/// Returns 0: right, 1: wrong, 2: no such option, 77: no such backend here.
inline int run_example(int argc, char** argv,
                       bool (*program)(gpuos::Runtime&)) {
  gpuos::RuntimeOptions options;
  if (argc == 3 && std::string(argv[1]) == "--backend") {
    options.backend = argv[2];
  } else if (argc != 1) {
    std::fprintf(stderr, "usage: %s [--backend auto|cuda|host]\n", argv[0]);
    return 2;
  }
  try {
    gpuos::Runtime runtime(options);
    std::printf("%s, %u workers\n", runtime.stats().device.c_str(),
                runtime.stats().workers);
    const bool is_right = program(runtime);
    runtime.close();
    std::puts(is_right ? "OK" : "WRONG");
    return is_right ? 0 : 1;
  } catch (const gpuos::BackendUnavailable& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 77;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
