#include "memory/outputs.h"

#include <ATen/ops/_lazy_clone_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/library.h>

#include <atomic>
#include <utility>

#include "memory/blocks.h"
#include "memory/slabs.h"
#include "pytorch/modes.h"

namespace gpuos::bridge {
namespace {

using c10::StorageImpl;

std::atomic<bool> slabs_are_used{true};

c10::intrusive_ptr<StorageImpl> make_storage(std::size_t bytes,
                                             const Site& site) {
  auto* allocator = c10::GetAllocator(site.stream.device_type());
  const auto allocate = [&] {
    if (C10_LIKELY(bytes <= Slabs::kMostBytes &&
                   slabs_are_used.load(std::memory_order_relaxed)))
      return site.slabs->allocate(bytes);
    c10::OptionalDeviceGuard guard;
    if (!site.is_cpu()) guard.reset_device(site.stream.device());
    return allocator->allocate(bytes);
  };
  return c10::make_intrusive<ResultStorage>(
      StorageImpl::use_byte_size_t(), static_cast<std::int64_t>(bytes),
      allocate(), allocator, /*resizable=*/true);
}

std::size_t element_count(at::IntArrayRef sizes) {
  std::size_t count = 1;
  for (const std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
  return count;
}

struct Quiet : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

void record_stream(Tensor& tensor, c10::Stream stream) {
  const c10::DataPtr& data =
      tensor.storage().unsafeGetStorageImpl()->_mutable_data_ptr_no_checks();
  if (Slabs::is_slot(data))
    Slabs::share(data, stream);
  else
    c10::impl::VirtualGuardImpl(stream.device_type())
        .recordDataPtrOnStream(data, stream);
}

// Tensors of inference mode have no keys of autograd.
DispatchKeySet keys_of_result(const Site& site) {
  return C10_LIKELY(!is_inferring())
             ? site.keys
             : site.keys - c10::autograd_dispatch_keyset_with_ADInplaceOrView;
}

// Copy on write shares a block of the allocator.
Tensor lazy_clone(const Tensor& tensor) {
  leave_slab(tensor.storage().unsafeGetStorageImpl());
  return at::native::_lazy_clone(tensor);
}

}  // namespace

Tensor make_output(at::IntArrayRef sizes, at::IntArrayRef strides,
                   at::ScalarType type, const Site& site) {
  const caffe2::TypeMeta meta = c10::scalarTypeToTypeMeta(type);
  c10::Storage storage(
      make_storage(element_count(sizes) * meta.itemsize(), site));
  Tensor out = at::detail::make_tensor<ResultTensor>(
      std::move(storage), keys_of_result(site), meta);
  auto* impl = out.unsafeGetTensorImpl();
  if (!strides.empty())
    impl->set_sizes_and_strides(sizes, strides);
  else if (sizes.size() <= ResultTensor::kFewSizes)
    static_cast<ResultTensor*>(impl)->set_few_sizes(sizes);
  else
    impl->set_sizes_contiguous(sizes);
  return out;
}

Tensor make_contiguous_output(at::IntArrayRef sizes, std::size_t elems,
                              at::ScalarType type, const Site& site) {
  const caffe2::TypeMeta meta = c10::scalarTypeToTypeMeta(type);
  const std::size_t bytes = elems * meta.itemsize();
  if (C10_UNLIKELY(bytes > Slabs::kMostBytes ||
                   !slabs_are_used.load(std::memory_order_relaxed) ||
                   sizes.size() > ResultTensor::kFewSizes))
    return make_output(sizes, {}, type, site);
  c10::Storage storage(c10::make_intrusive<ResultStorage>(
      bytes, *site.slabs, c10::GetAllocator(site.stream.device_type())));
  Tensor out = at::detail::make_tensor<ResultTensor>(
      std::move(storage), keys_of_result(site), meta);
  static_cast<ResultTensor*>(out.unsafeGetTensorImpl())->set_few_sizes(sizes);
  return out;
}

void use_slabs(bool use) {
  slabs_are_used.store(use, std::memory_order_relaxed);
}

void trim_slabs(std::size_t kept) {
  for (Slabs* slabs : all_slabs()) slabs->trim(kept);
}

void leave_slab(StorageImpl* storage) {
  const c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
  if (!Slabs::is_slot(data)) return;
  const WithoutMode without;
  const auto bytes = static_cast<std::int64_t>(storage->nbytes());
  const auto options = at::TensorOptions(at::kByte).device(data.device());
  const Tensor own = at::empty({bytes}, options);
  own.copy_(at::from_blob(data.get(), {bytes}, options));
  StorageImpl* fresh = own.storage().unsafeGetStorageImpl();
  storage->set_data_ptr_noswap(fresh->set_data_ptr(c10::DataPtr()));
}

void register_slab_operators() {
  // PyTorch itself searches the block that begins at an address. These
  // operators otherwise behave the same, so no warning is needed.
  Quiet quiet;
  const c10::WarningUtils::WarningHandlerGuard guard(&quiet);
  static torch::Library cpu(torch::Library::IMPL, "aten", c10::DispatchKey::CPU,
                            __FILE__, __LINE__);
  static torch::Library cuda(torch::Library::IMPL, "aten",
                             c10::DispatchKey::CUDA, __FILE__, __LINE__);
  cuda.impl("record_stream", &record_stream);
  for (torch::Library* library : {&cpu, &cuda})
    library->impl("_lazy_clone", &lazy_clone);
}

}  // namespace gpuos::bridge
