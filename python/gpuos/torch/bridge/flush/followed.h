// Values of small tensors that the host follows while they are pending, so that
// a program that reads one needs no flush and does not wait.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Scalar.h>
#include <c10/core/Storage.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "gpuos/known_values.h"
#include "gpuos/requests.h"

namespace gpuos::bridge {

using at::Tensor;

/// Knows values of results, of copies of CPU tensors, and those that were read.
///
/// On a GPU, everything else that writes to memory must be told. A write that
/// no operator shows ends the values after kMostInARow reads at the latest.
/// On processors, nothing is known beyond the pending requests.
///
/// Threads: under the lock of pending requests, except may_know().
class Followed {
 public:
  /// Returns whether a value of a GPU may be known, so that writes must be
  /// told.
  bool may_know() const noexcept {
    return may_know_.load(std::memory_order_relaxed);
  }
  /// Returns whether the program reads pending values, so that each batch must
  /// be taken.
  bool is_read() const noexcept { return is_read_; }
  /// Sets whether processors count as a GPU, for tests. No pointer counts as
  /// given to others until then.
  void imitate_gpu(bool imitate) noexcept {
    imitates_gpu_ = imitate;
    is_memory_ours_ = true;
  }
  bool is_gpu(c10::Device device) const noexcept {
    return imitates_gpu_ || !device.is_cpu();
  }

  /// Takes the requests of the pending batch that it has not taken yet.
  void take(std::span<const Request> requests,
            std::span<const TensorView> views, c10::Device device);
  /// The batch was handed to the workers.
  void next_batch() noexcept { taken_ = 0; }
  /// The batch before is done, and the host may read what it wrote.
  void batch_done() {
    if (imitates_gpu_) return;
    of_cpu_.clear();
    taken_ = 0;
  }

  /// The program asks for the result of `request`. Returns whether it follows
  /// from its operands.
  bool follows(const Request& request, std::span<const TensorView> views,
               c10::Device device);
  /// Returns the only element of `tensor`, if it is known. take() was called.
  std::optional<c10::Scalar> find(const Tensor& tensor);
  /// Returns the storages that must be read so that the result of `request` is
  /// known, which follows from them. None: it would not be. `later`: the
  /// requests after it.
  std::vector<c10::Storage> wanted_by(const Request& request,
                                      std::span<const Request> later);
  /// Computes a request again, after its operands were read.
  void take_again(const Request& request, std::span<const TensorView> views) {
    of_gpu_.take({&request, 1}, views);
  }
  /// Notes the values of a whole storage of a GPU.
  void set(const c10::Storage& storage, std::span<const std::byte> values);
  /// Does the same for memory that PyTorch allocated, and holds it.
  void hold(c10::Storage storage, std::span<const std::byte> values);
  /// Returns whether the storage may be set: it is small, and others write to
  /// it only by operators.
  bool may_set(const c10::StorageImpl* storage) const;

  /// Something else may write to `storage`.
  void forget(const c10::StorageImpl* storage) { of_gpu_.forget(storage); }
  void forget_all() noexcept { of_gpu_.clear(); }
  /// Returns the held storages, which the caller releases without the lock.
  [[nodiscard]] std::vector<c10::Storage> clear() noexcept;
  /// Others may keep pointers to results from now on.
  void distrust() noexcept { is_memory_ours_ = false; }

 private:
  static constexpr std::size_t kMostHeld = 1024;
  static constexpr std::uint32_t kMostInARow = 256;

  KnownValues of_cpu_{true};
  KnownValues of_gpu_{false};
  std::vector<c10::Storage> held_;
  std::size_t taken_ = 0;       // of the batch
  std::uint32_t in_a_row_ = 0;  // values that were found
  bool is_memory_ours_ = true;
  bool is_read_ = false;
  bool imitates_gpu_ = false;
  std::atomic<bool> may_know_{false};
};

/// Calls `f` with every tensor among the arguments.
template <typename F>
void for_each_tensor(c10::ArrayRef<c10::IValue> arguments, const F& f) {
  for (const c10::IValue& value : arguments) {
    if (value.isTensor()) {
      f(value.toTensor());
    } else if (value.isList()) {
      for (const c10::IValue& one : value.toListRef())
        if (one.isTensor()) f(one.toTensor());
    }
  }
}

/// Tells that PyTorch runs `op` with these arguments.
void note_writes(const c10::OperatorHandle& op,
                 c10::ArrayRef<c10::IValue> arguments);
/// Returns whether the schema of `op` may not declare all tensors that it
/// writes or whose memory it replaces.
bool writes_in_silence(std::string_view name);

}  // namespace gpuos::bridge
