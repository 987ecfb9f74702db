#include "planning/shapes.h"

#include <c10/util/accumulate.h>

#include <algorithm>
#include <bit>

#include "flush/costs.h"
#include "memory/outputs.h"
#include "memory/sharing.h"
#include "planning/parts.h"

namespace gpuos::bridge {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

/// More copies cost more than PyTorch's operator.
constexpr std::size_t kMostCopies = 16;

/// A part of a tensor, in elements.
struct Part {
  Dims sizes;
  Dims strides;
  std::int64_t offset = 0;

  static Part of(const Tensor& tensor) {
    return {Dims(tensor.sizes().begin(), tensor.sizes().end()),
            Dims(tensor.strides().begin(), tensor.strides().end())};
  }
  /// Returns `size` elements of a dimension from `start` on.
  Part narrowed(std::int64_t dim, std::int64_t start, std::int64_t size) const {
    Part part = *this;
    const auto d = static_cast<std::size_t>(dim);
    part.offset += start * strides[d];
    part.sizes[d] = size;
    return part;
  }
  std::int64_t elems() const { return c10::multiply_integers(sizes); }
};

/// The copies of one operator.
class Copies {
 public:
  /// Makes a result in C order of the device and dtype of `like`.
  Copies(const Dims& shape, const Tensor& like, std::vector<Deferred>& requests,
         const Site*& site)
      : requests_(requests) {
    site = &current_site(like.device());
    out_ = make_output(shape, {}, like.scalar_type(), *site);
  }

  const Tensor& out() const noexcept { return out_; }

  /// Copies `from`, a part of `tensor`, to a part of the result. Both have the
  /// same sizes.
  void add(const Tensor& tensor, const Part& from, const Part& to) {
    if (from.elems() == 0) return;
    Deferred& deferred = begin(to);
    Request& request = deferred.request;
    const DType dtype = request.out_dtype;
    void* const data = address_in(tensor, from.offset);
    put_array(request, 0, tensor, dtype, data);
    request.operands = 1;
    deferred.needs.add(tensor);
    deferred.views.push_back(view_of(data, dtype, from.sizes, from.strides));
    deferred.needs.add_out(out_);
  }
  /// Fills the result with a number.
  void fill(double number) {
    const Part all = Part::of(out_);
    if (all.elems() == 0) return;
    Deferred& deferred = begin(all);
    Request& request = deferred.request;
    request.operands = 1;
    request.numbers = 1;
    request.dtypes[0] = DType::Float64;
    request.values[0] = std::bit_cast<std::uint64_t>(number);
    deferred.needs.add_out(out_);
  }

 private:
  static void* address_in(const Tensor& tensor, std::int64_t offset) {
    return static_cast<char*>(address_of(tensor)) +
           offset * static_cast<std::int64_t>(tensor.element_size());
  }
  Deferred& begin(const Part& to) {
    Deferred& deferred = requests_.emplace_back();
    Request& request = deferred.request;
    request.function = function_of(Function::Copy);
    request.out_dtype = request.compute = *dtype_of(out_.scalar_type());
    put_out(request, out_, true, address_in(out_, to.offset));
    request.elems = static_cast<std::uint64_t>(to.elems());
    deferred.views.push_back(
        view_of(request.out, request.out_dtype, to.sizes, to.strides));
    return deferred;
  }

  std::vector<Deferred>& requests_;
  Tensor out_;
};

/// Returns whether copies of the tensor are deferred.
bool is_usable(const Tensor& tensor) {
  return is_usual_tensor(tensor) && is_aligned(tensor) && !is_shared(tensor) &&
         !tensor.is_inference() && !tensor.is_complex() && tensor.dim() > 0 &&
         tensor.dim() < static_cast<std::int64_t>(kMaxDims) &&
         tensor.suggest_memory_format() == at::MemoryFormat::Contiguous;
}

/// On a processor, PyTorch copies more elements faster: it uses the same memory
/// again while that is in the cache.
constexpr std::int64_t kMostOnProcessors = 1 << 11;

/// On a processor, PyTorch copies more short rows faster.
constexpr std::int64_t kMostRuns = 128;

/// Returns whether a result of this shape is deferred, which is made of
/// `copies` along `dim`.
bool is_usual_shape(c10::IntArrayRef shape, std::int64_t dim,
                    std::int64_t copies, const Tensor& like) {
  const std::int64_t elems = c10::multiply_integers(shape);
  const std::int64_t runs = copies * c10::multiply_integers(shape.slice(
                                         0, static_cast<std::size_t>(dim)));
  const bool is_usual =
      elems <= size_threshold() &&
      !(like.is_cpu() && (elems > kMostOnProcessors || runs > kMostRuns));
  if (!is_usual) is_passed_to_pytorch = true;
  return elems > 0 && is_usual;
}

/// Returns the dimension from 0 on, or nothing.
std::optional<std::int64_t> dim_of(std::int64_t dim, std::int64_t rank) {
  if (dim < 0) dim += rank;
  return dim < 0 || dim >= rank ? std::nullopt : std::optional(dim);
}

/// cat(tensors, dim), stack(tensors, dim)
template <bool kStacks>
Tensor plan_joined(Arguments arguments, std::vector<Deferred>& requests,
                   const Site*& site) {
  if (!arguments[0].isTensorList()) return {};
  const std::vector<Tensor> tensors = arguments[0].toTensorVector();
  if (tensors.empty() || tensors.size() > kMostCopies) return {};
  const Tensor& first = tensors[0];
  for (const Tensor& tensor : tensors)
    if (!is_usable(tensor) || tensor.dim() != first.dim() ||
        tensor.scalar_type() != first.scalar_type() ||
        tensor.device() != first.device())
      return {};
  const auto dim =
      dim_of(arguments[1].toInt(), first.dim() + (kStacks ? 1 : 0));
  if (!dim) return {};
  Dims shape(first.sizes().begin(), first.sizes().end());
  if (kStacks)
    shape.insert(shape.begin() + *dim, 0);
  else
    shape[static_cast<std::size_t>(*dim)] = 0;
  for (const Tensor& tensor : tensors) {
    for (std::int64_t d = 0; d < first.dim(); ++d)
      if ((kStacks || d != *dim) && tensor.size(d) != first.size(d)) return {};
    shape[static_cast<std::size_t>(*dim)] += kStacks ? 1 : tensor.size(*dim);
  }
  if (!is_usual_shape(shape, *dim, static_cast<std::int64_t>(tensors.size()),
                      first))
    return {};
  Copies copies(shape, first, requests, site);
  const Part all = Part::of(copies.out());
  std::int64_t at = 0;
  for (const Tensor& tensor : tensors) {
    const std::int64_t size = kStacks ? 1 : tensor.size(*dim);
    Part from = Part::of(tensor);
    if (kStacks) {
      from.sizes.insert(from.sizes.begin() + *dim, 1);
      from.strides.insert(from.strides.begin() + *dim, 1);
    }
    copies.add(tensor, from, all.narrowed(*dim, at, size));
    at += size;
  }
  return copies.out();
}

/// Adds the copies of a roll along `dims`.
void add_rolled(Copies& copies, const Tensor& tensor, const Part& from,
                const Part& to, at::IntArrayRef shifts, at::IntArrayRef dims) {
  if (dims.empty()) return copies.add(tensor, from, to);
  const std::int64_t dim = dims[0];
  const std::int64_t size = tensor.size(dim);
  const std::int64_t shift = ((shifts[0] % size) + size) % size;
  const auto rest = [&](std::int64_t begin, std::int64_t at,
                        std::int64_t count) {
    if (count == 0) return;
    add_rolled(copies, tensor, from.narrowed(dim, begin, count),
               to.narrowed(dim, at, count), shifts.slice(1), dims.slice(1));
  };
  rest(0, shift, size - shift);
  rest(size - shift, 0, shift);
}

/// roll(tensor, shifts, dims)
Tensor plan_roll(Arguments arguments, std::vector<Deferred>& requests,
                 const Site*& site) {
  const Tensor& tensor = arguments[0].toTensor();
  const auto shifts = arguments[1].toDimVector();
  auto dims = arguments[2].toDimVector();
  // A part of an image may have another memory format than the whole.
  if (!is_usable(tensor) || (tensor.dim() > 3 && !tensor.is_contiguous()) ||
      dims.empty() || dims.size() != shifts.size() || dims.size() > 2)
    return {};
  for (std::int64_t& dim : dims) {
    const auto found = dim_of(dim, tensor.dim());
    if (!found) return {};
    dim = *found;
  }
  if (dims.size() == 2 && dims[0] == dims[1]) return {};
  if (!is_usual_shape(tensor.sizes(), std::ranges::max(dims), 2, tensor))
    return {};
  Copies copies(Dims(tensor.sizes().begin(), tensor.sizes().end()), tensor,
                requests, site);
  add_rolled(copies, tensor, Part::of(tensor), Part::of(copies.out()), shifts,
             dims);
  return copies.out();
}

/// repeat(tensor, repeats): one copy of a view in which dimensions come twice.
Tensor plan_repeat(Arguments arguments, std::vector<Deferred>& requests,
                   const Site*& site) {
  const Tensor& tensor = arguments[0].toTensor();
  const auto repeats = arguments[1].toDimVector();
  if (!is_usable(tensor) ||
      static_cast<std::int64_t>(repeats.size()) < tensor.dim())
    return {};
  const auto more = static_cast<std::int64_t>(repeats.size()) - tensor.dim();
  Dims shape;
  Part from;
  for (std::size_t d = 0; d < repeats.size(); ++d) {
    const std::int64_t own = static_cast<std::int64_t>(d) - more;
    const std::int64_t size = own < 0 ? 1 : tensor.size(own);
    if (repeats[d] < 0) return {};
    shape.push_back(repeats[d] * size);
    if (repeats[d] != 1) {
      from.sizes.push_back(repeats[d]);
      from.strides.push_back(0);
    }
    if (size != 1) {
      from.sizes.push_back(size);
      from.strides.push_back(tensor.stride(own));
    }
  }
  if (from.sizes.size() > kMaxDims || !is_usual_shape(shape, 0, 1, tensor))
    return {};
  Copies copies(shape, tensor, requests, site);
  // The result in C order has the same elements in these dimensions.
  Part to{from.sizes, Dims(from.sizes.size(), 1)};
  for (std::size_t d = to.sizes.size(); d-- > 1;)
    to.strides[d - 1] = to.strides[d] * to.sizes[d];
  copies.add(tensor, from, to);
  return copies.out();
}

/// constant_pad_nd(tensor, pad, value)
Tensor plan_pad(Arguments arguments, std::vector<Deferred>& requests,
                const Site*& site) {
  const Tensor& tensor = arguments[0].toTensor();
  const auto pad = arguments[1].toDimVector();
  const c10::Scalar value = arguments[2].toScalar();
  if (!is_usable(tensor) || pad.size() % 2 != 0 ||
      static_cast<std::int64_t>(pad.size()) > 2 * tensor.dim() ||
      !tensor.is_floating_point() || value.isComplex() ||
      std::ranges::any_of(pad, [](std::int64_t one) { return one < 0; }))
    return {};
  Dims shape(tensor.sizes().begin(), tensor.sizes().end());
  Dims before(shape.size(), 0);
  for (std::size_t i = 0; i < pad.size() / 2; ++i) {
    const std::size_t d = shape.size() - 1 - i;
    before[d] = pad[2 * i];
    shape[d] += pad[2 * i] + pad[2 * i + 1];
  }
  if (tensor.numel() == 0 ||
      !is_usual_shape(shape, tensor.dim() - 1, 1, tensor))
    return {};
  Copies copies(shape, tensor, requests, site);
  copies.fill(value.toDouble());
  Part to = Part::of(copies.out());
  for (std::int64_t d = 0; d < tensor.dim(); ++d)
    to = to.narrowed(d, before[static_cast<std::size_t>(d)], tensor.size(d));
  copies.add(tensor, Part::of(tensor), to);
  return copies.out();
}

constexpr PlannedName kShapeNames[] = {
    {"cat", &plan_joined<false>},   {"stack", &plan_joined<true>},
    {"roll", &plan_roll},           {"repeat", &plan_repeat},
    {"constant_pad_nd", &plan_pad},
};

}  // namespace

const PlannedName* find_planned(std::string_view name) {
  for (const std::span<const PlannedName> names :
       {std::span<const PlannedName>(kShapeNames), kProducts})
    for (const PlannedName& one : names)
      if (one.name == name) return &one;
  return nullptr;
}

}  // namespace gpuos::bridge
