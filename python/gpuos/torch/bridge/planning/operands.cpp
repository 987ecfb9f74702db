#include "planning/operands.h"

#include <algorithm>
#include <array>
#include <utility>

#include "pytorch/keys.h"

namespace gpuos::bridge {
namespace {

/// Returns which of two dimensions is the inner one: < 0 the first, > 0 the
/// second.
int compare_dims(std::span<const Dims> strides, at::IntArrayRef shape,
                 std::size_t first, std::size_t second) {
  for (const Dims& one : strides) {
    const std::int64_t a = one[first];
    const std::int64_t b = one[second];
    if (a == 0 || b == 0) continue;  // broadcast: says nothing
    if (a != b) return a < b ? -1 : 1;
    if (shape[first] > shape[second]) return 1;
  }
  return 0;
}

/// Returns the strides of `tensor` as it is broadcast to `shape`.
Dims expanded_strides(const Tensor& tensor, at::IntArrayRef shape) {
  Dims strides(shape.size(), 0);
  const at::IntArrayRef sizes = tensor.sizes();
  const std::size_t skipped = shape.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1 || shape[skipped + d] == 1)
      strides[skipped + d] = tensor.stride(static_cast<std::int64_t>(d));
  return strides;
}

/// Broadcasts `shape` to `sizes` too. False: they do not fit.
bool broadcast_to(at::IntArrayRef sizes, Dims& shape) {
  if (sizes.size() > shape.size())
    shape.insert(shape.begin(), sizes.size() - shape.size(), 1);
  const std::size_t skipped = shape.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    std::int64_t& size = shape[skipped + d];
    if (size == 1)
      size = sizes[d];
    else if (sizes[d] != 1 && sizes[d] != size)
      return false;
  }
  return true;
}

/// Returns the range from its first element to the end of its last. It must
/// have elements.
ByteRange range_of(const Tensor& tensor) {
  std::int64_t last = 0;
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    last += (tensor.size(d) - 1) * tensor.stride(d);
  const auto low = reinterpret_cast<std::uint64_t>(address_of(tensor));
  return {low,
          low + (static_cast<std::uint64_t>(last) + 1) * tensor.itemsize()};
}

}  // namespace

bool is_bool(const TorchOperand& operand) {
  return operand.is_number() ? operand.number.isBoolean()
                             : operand.tensor->scalar_type() == at::kBool;
}

std::optional<c10::Scalar> wrapped_number(const Tensor& tensor) {
  // Autograd's zeros and functorch's wrappers are numbers without memory.
  if (!tensor.unsafeGetTensorImpl()->is_wrapped_number() ||
      kernel_keys_of(tensor) != DispatchKeySet(DispatchKey::CPU) ||
      is_marked(tensor) || !has_memory(tensor))
    return std::nullopt;
  const void* data = address_of(tensor);
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return c10::Scalar(*static_cast<const double*>(data));
    case at::kLong:
      return c10::Scalar(*static_cast<const std::int64_t*>(data));
    default:
      return std::nullopt;
  }
}

bool broadcast(std::span<const TorchOperand> operands, Broadcast& all) {
  for (const TorchOperand& operand : operands)
    if (!operand.is_number() &&
        !broadcast_to(operand.tensor->sizes(), all.shape))
      return false;
  for (const TorchOperand& operand : operands) {
    if (operand.is_number()) continue;
    const Tensor& tensor = *operand.tensor;
    const bool is_whole = tensor.sizes() == at::IntArrayRef(all.shape);
    all.strides.push_back(expanded_strides(tensor, all.shape));
    all.are_contiguous =
        all.are_contiguous && is_whole && tensor.is_contiguous();
    all.have_one_layout = all.have_one_layout && is_whole &&
                          tensor.is_non_overlapping_and_dense() &&
                          all.strides.back() == all.strides.front();
    all.are_channels_last =
        all.are_channels_last && is_whole && all.shape.size() == 4 &&
        tensor.is_contiguous(at::MemoryFormat::ChannelsLast);
  }
  return true;
}

std::int64_t Broadcast::elems() const {
  std::int64_t count = 1;
  for (const std::int64_t size : shape) count *= size;
  return count;
}

std::int64_t Broadcast::runs() const {
  if (have_one_layout) return 0;
  constexpr std::int64_t kUnknown = -1;
  std::array<std::int64_t, kMaxRequestOperands> steps;
  steps.fill(kUnknown);
  std::int64_t run = 1;
  bool goes_on = true;
  std::int64_t runs = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    for (std::size_t i = 0; i < strides.size() && goes_on; ++i) {
      if (steps[i] == kUnknown) steps[i] = strides[i][d];
      goes_on = strides[i][d] == steps[i] * run;
    }
    (goes_on ? run : runs) *= shape[d];
  }
  return runs == 1 ? 0 : runs;
}

bool Broadcast::is_flat(const Tensor& out) const {
  if (out.is_contiguous()) return are_contiguous;
  return have_one_layout && out.strides() == at::IntArrayRef(strides[0]);
}

Dims Broadcast::output_strides(bool counts_numbers) const {
  if ((are_contiguous && !counts_numbers) || shape.size() <= 1) return {};
  // PyTorch asks this before it looks at strides. The strides of an axis of
  // size 1 are new ones.
  if (!counts_numbers && are_channels_last) {
    const auto found = c10::get_channels_last_strides_2d(shape);
    return {found.begin(), found.end()};
  }
  if (!counts_numbers && have_one_layout) return strides[0];
  // Innermost first, sorted by insertion as PyTorch does it: the comparison is
  // no order, so the way matters.
  const std::size_t rank = shape.size();
  Dims order;
  for (std::size_t d = rank; d-- > 0;)
    order.push_back(static_cast<std::int64_t>(d));
  for (std::size_t i = 1; i < rank; ++i) {
    std::size_t moving = i;
    for (std::size_t k = i; k-- > 0;) {
      const int which =
          compare_dims(strides, shape, static_cast<std::size_t>(order[k]),
                       static_cast<std::size_t>(order[moving]));
      if (which > 0) {
        std::swap(order[k], order[moving]);
        moving = k;
      } else if (which < 0) {
        break;
      }
    }
  }
  Dims result(rank);
  std::int64_t step = 1;
  for (const std::int64_t d : order) {
    result[static_cast<std::size_t>(d)] = step;
    step *= std::max<std::int64_t>(shape[static_cast<std::size_t>(d)], 1);
  }
  return result;
}

TensorView view_of(void* data, DType dtype, at::IntArrayRef shape,
                   at::IntArrayRef strides) {
  TensorView view;
  view.data = data;
  view.dtype = dtype;
  view.dims = static_cast<std::uint8_t>(shape.size());
  view.has_strides = true;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    view.shape[d] = shape[d];
    view.strides[d] = strides[d];
  }
  return view;
}

bool may_share_memory(const Tensor& a, const Tensor& b) {
  const ByteRange one = range_of(a);
  const ByteRange other = range_of(b);
  return one.low < other.high && other.low < one.high;
}

bool is_aligned(const Tensor& tensor) {
  return reinterpret_cast<std::uintptr_t>(address_of(tensor)) %
             tensor.itemsize() ==
         0;
}

bool may_write_beside(const Tensor& out, const Tensor& in) {
  if (in.numel() == 0 || !may_share_memory(out, in)) return true;
  return address_of(out) == address_of(in) && out.strides() == in.strides() &&
         out.sizes() == in.sizes() && out.scalar_type() == in.scalar_type();
}

bool overlaps_itself(const Tensor& tensor) {
  if (tensor.is_non_overlapping_and_dense()) return false;
  c10::SmallVector<std::pair<std::int64_t, std::int64_t>, 8> steps;
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    if (tensor.size(d) > 1)
      steps.emplace_back(tensor.stride(d), tensor.size(d));
  std::sort(steps.begin(), steps.end());
  std::int64_t reach = 0;  // from the first to the last element so far
  for (const auto& [stride, size] : steps) {
    if (stride <= reach) return true;
    reach += stride * (size - 1);
  }
  return false;
}

}  // namespace gpuos::bridge
