#include "flush/followed.h"

#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "flush/pending.h"
#include "memory/slabs.h"
#include "pytorch/keys.h"
#include "pytorch/memory.h"
#include "pytorch/modes.h"

namespace gpuos::bridge {
namespace {

std::optional<c10::Scalar> number_of(std::span<const std::byte> bytes,
                                     at::ScalarType type) {
  const auto as = [&]<typename T>(T value) -> c10::Scalar {
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  };
  switch (type) {
    case at::kFloat:
      return as(float{});
    case at::kDouble:
      return as(double{});
    case at::kInt:
      return as(int{});
    case at::kLong:
      return as(std::int64_t{});
    case at::kBool:
      return c10::Scalar(bytes[0] != std::byte{0});
    default:
      return std::nullopt;
  }
}

/// Returns the bytes of a storage on the host. It waits for its device.
Tensor read_storage(const c10::Storage& storage) {
  const WithoutMode without;
  c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
  return at::from_blob(impl->_mutable_data_ptr_no_checks().get(),
                       {static_cast<std::int64_t>(impl->nbytes())},
                       at::TensorOptions(at::kByte).device(impl->device()))
      .cpu();
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.const_data_ptr()),
          static_cast<std::size_t>(tensor.nbytes())};
}

/// Returns the storage of an ordinary tensor, or null. Others may call Python
/// to say what they are, which the lock forbids.
c10::StorageImpl* usual_storage_of(const Tensor& tensor) {
  return tensor.defined() && has_usual_keys(tensor) ? storage_of(tensor)
                                                    : nullptr;
}

c10::Storage held(const void* owner) {
  auto* storage = const_cast<c10::StorageImpl*>(
      static_cast<const c10::StorageImpl*>(owner));
  c10::raw::intrusive_ptr::incref(storage);
  return c10::Storage(c10::intrusive_ptr<c10::StorageImpl>::reclaim(storage));
}

}  // namespace

void Followed::take(std::span<const Request> requests,
                    std::span<const TensorView> views, c10::Device device) {
  if (is_gpu(device)) may_know_.store(true, std::memory_order_relaxed);
  (is_gpu(device) ? of_gpu_ : of_cpu_).take(requests.subspan(taken_), views);
  taken_ = requests.size();
}

bool Followed::follows(const Request& request,
                       std::span<const TensorView> views, c10::Device device) {
  is_read_ = true;
  return (is_gpu(device) ? of_gpu_ : of_cpu_).computes(request, views);
}

std::optional<c10::Scalar> Followed::find(const Tensor& tensor) {
  const KnownValues& known = is_gpu(tensor.device()) ? of_gpu_ : of_cpu_;
  const auto bytes =
      known.find(storage_of(tensor), address_of(tensor), tensor.itemsize());
  if (bytes.empty()) return std::nullopt;
  if (is_gpu(tensor.device()) && ++in_a_row_ > kMostInARow) {
    forget_all();
    in_a_row_ = 0;
    return std::nullopt;
  }
  return number_of(bytes, tensor.scalar_type());
}

bool Followed::may_set(const c10::StorageImpl* storage) const {
  if (storage->nbytes() > KnownValues::kMostBytes) return false;
  if (of_gpu_.has(storage)) return true;
  return is_memory_ours_ &&
         Slabs::is_slot(const_cast<c10::StorageImpl*>(storage)
                            ->_mutable_data_ptr_no_checks());
}

std::vector<c10::Storage> Followed::wanted_by(const Request& request,
                                              std::span<const Request> later) {
  std::vector<c10::Storage> wanted;
  if (!request.is_fresh) return {};
  for (const void* owner : request.owners) {
    if (owner == nullptr) continue;
    const auto* storage = static_cast<const c10::StorageImpl*>(owner);
    // The request must read the values that the storage has after the run.
    for (const Request& one : later)
      if (one.out_owner == owner) return {};
    if (!may_set(storage)) return {};
    if (!of_gpu_.has(storage)) wanted.push_back(held(owner));
  }
  return wanted;
}

void Followed::set(const c10::Storage& storage,
                   std::span<const std::byte> values) {
  may_know_.store(true, std::memory_order_relaxed);
  in_a_row_ = 0;
  c10::StorageImpl* impl = storage.unsafeGetStorageImpl();
  of_gpu_.set(impl, impl->_mutable_data_ptr_no_checks().get(), values);
}

void Followed::hold(c10::Storage storage, std::span<const std::byte> values) {
  if (held_.size() >= kMostHeld) return;
  set(storage, values);
  held_.push_back(std::move(storage));
}

std::vector<c10::Storage> Followed::clear() noexcept {
  of_gpu_.clear();
  in_a_row_ = 0;
  return std::exchange(held_, {});
}

std::optional<c10::Scalar> Pending::read(const Cause& op,
                                         const Tensor& tensor) {
  Request request;
  std::vector<TensorView> views;
  std::vector<c10::Storage> wanted;
  {
    const std::lock_guard lock(mutex_);
    const std::vector<Request>& all = batch_.requests;
    const c10::Device device = batch_.site.stream.device();
    if (all.empty() || tensor.device() != device) return std::nullopt;
    const auto found =
        std::find_if(all.rbegin(), all.rend(), [&](const Request& one) {
          return one.out_owner == storage_of(tensor);
        });
    // Most questions are about a sum or the like. Nothing is computed for them.
    if (found == all.rend() || !followed_.follows(*found, batch_.views, device))
      return std::nullopt;
    followed_.take(all, batch_.views, device);
    if (auto known = followed_.find(tensor)) {
      ++counters_.known_reads;
      return known;
    }
    // The host reads all operands, so there is nothing more to know.
    if (!followed_.is_gpu(tensor.device())) return std::nullopt;
    request = *found;
    wanted = followed_.wanted_by(request, std::span(found.base(), all.end()));
    if (wanted.empty()) return std::nullopt;
    if (request.views != Request::kFlat) {
      // Numbers have no views, so these may be some too many.
      const auto known = std::span(batch_.views).subspan(request.views);
      const auto count =
          std::min<std::size_t>(known.size(), 1 + request.operands);
      views.assign(known.begin(),
                   known.begin() + static_cast<std::ptrdiff_t>(count));
      request.views = 0;
    }
  }
  flush(op);
  std::vector<Tensor> values;
  for (const c10::Storage& storage : wanted)
    values.push_back(read_storage(storage));
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    followed_.set(wanted[i], bytes_of(values[i]));
  followed_.take_again(request, views);
  return followed_.find(tensor);
}

void Pending::note_read(const Tensor& tensor, const c10::Scalar& number) {
  c10::StorageImpl* storage = usual_storage_of(tensor);
  if (storage == nullptr || storage->nbytes() != tensor.itemsize()) return;
  const std::lock_guard lock(mutex_);
  if (!followed_.is_read() || !followed_.is_gpu(storage->device()) ||
      !followed_.may_set(storage))
    return;
  const auto set = [&](auto value) {
    followed_.set(tensor.storage(), std::as_bytes(std::span(&value, 1)));
  };
  switch (tensor.scalar_type()) {
    case at::kFloat:
      return set(static_cast<float>(number.toDouble()));
    case at::kDouble:
      return set(number.toDouble());
    case at::kInt:
      return set(static_cast<std::int32_t>(number.toLong()));
    case at::kLong:
      return set(number.toLong());
    case at::kBool:
      return set(number.toBool());
    default:
      return;
  }
}

void Pending::note_copied(const Tensor& from, const Tensor& to) {
  if (kernel_keys_of(from) != DispatchKeySet(DispatchKey::CPU) ||
      kernel_keys_of(to) != DispatchKeySet(DispatchKey::CUDA) ||
      is_marked(from) || !to.is_contiguous() ||
      to.nbytes() > KnownValues::kMostBytes || to.nbytes() == 0 ||
      to.storage().nbytes() != to.nbytes())
    return;
  const WithoutMode without;
  const Tensor values = from.to(to.scalar_type()).contiguous();
  const std::lock_guard lock(mutex_);
  followed_.hold(to.storage(), bytes_of(values));
}

void Pending::forget(const Tensor& tensor) {
  if (!followed_.may_know()) return;
  const c10::StorageImpl* storage = usual_storage_of(tensor);
  if (storage == nullptr) return;
  const std::lock_guard lock(mutex_);
  followed_.forget(storage);
}

void Pending::note_exposed(const Tensor& tensor) {
  c10::StorageImpl* storage = usual_storage_of(tensor);
  if (storage == nullptr) return;
  const std::lock_guard lock(mutex_);
  if (!followed_.is_gpu(storage->device())) return;
  followed_.forget(storage);
  if (Slabs::is_slot(storage->_mutable_data_ptr_no_checks()))
    followed_.distrust();
}

void Pending::forget_values(bool distrusts) {
  if (!followed_.may_know() && !distrusts) return;
  std::vector<c10::Storage> released;
  const std::lock_guard lock(mutex_);
  if (distrusts) followed_.distrust();
  released = followed_.clear();
}

bool writes_in_silence(std::string_view name) {
  for (const char* part : {"norm", "rnn", "set_", "resize", "record_stream"})
    if (name.find(part) != std::string_view::npos) return true;
  return !name.starts_with("aten::");
}

void note_writes(const c10::OperatorHandle& op,
                 c10::ArrayRef<c10::IValue> arguments) {
  if (!pending.may_know()) return;
  const std::string& name = op.operator_name().name;
  if (writes_in_silence(name)) {
    bool has_tensors = false;
    for_each_tensor(arguments, [&](const Tensor&) { has_tensors = true; });
    if (has_tensors) pending.forget_values(!name.starts_with("aten::"));
    return;
  }
  const auto& declared = op.schema().arguments();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const c10::AliasInfo* alias = declared[i].alias_info();
    if (alias == nullptr || !alias->isWrite() || name == "aten::detach_")
      continue;
    for_each_tensor(arguments.slice(i, 1),
                    [](const Tensor& tensor) { pending.forget(tensor); });
  }
}

}  // namespace gpuos::bridge
