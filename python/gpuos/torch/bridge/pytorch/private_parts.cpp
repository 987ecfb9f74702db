#include "pytorch/private_parts.h"

#include <ATen/ops/empty.h>

#include <array>

#include "pytorch/hooks.h"

namespace gpuos::bridge {
namespace {

void expect(bool is_there, const char* what) {
  TORCH_CHECK(is_there, "expected PyTorch ", TORCH_VERSION, " to keep ", what,
              " where it did when it was tried");
}

}  // namespace

void check_private_parts() {
  const Tensor a = at::empty({3, 5});
  const auto& layout = Fields::layout_of(a);
  expect(layout.size() == 2 && layout.size_at_unchecked(1) == 5 &&
             layout.stride_at_unchecked(0) == 5 && Fields::numel_of(a) == 15 &&
             Fields::offset_of(a[1]) == 5,
         "a tensor's sizes");
  // Shapes are no part of it, everything else is.
  const std::array others = {at::empty({3, 5}, at::kDouble),
                             at::empty({3, 5}, at::device(at::kMeta)), a.t()};
  const std::uint64_t kind = Fields::kind_of(a);
  bool tells_kinds = true;
  for (const Tensor& other : others)
    tells_kinds = tells_kinds && kind != Fields::kind_of(other);
  a.resize_({5, 3});
  tells_kinds = tells_kinds && kind == Fields::kind_of(a);
  expect(tells_kinds, "a tensor's dtype, device and flags");
  expect(!Fields::has_own_sizes(a), "whether a tensor has sizes of its own");
  expect(Fields::keys_of(a.unsafeGetTensorImpl()) == a.key_set(),
         "a tensor's keys");

  c10::StorageImpl* storage = a.storage().unsafeGetStorageImpl();
  const auto uses = a.storage().use_count();
  incref_unseen(storage);
  const bool counts = a.storage().use_count() == uses + 1;
  if (counts) c10::raw::intrusive_ptr::decref(storage);
  expect(counts, "the count of references");

  watch(storage);
  const bool is_ours = !is_watched_by_others(storage);
  unwatch(storage);
  expect(is_ours && !is_watched_by_others(storage), "a storage's hook");
#if GPUOS_HAS_MATERIALIZER
  expect(!storage->has_materializer(), "a storage's hook");
#endif
}

}  // namespace gpuos::bridge
