#include <c10/util/accumulate.h>

#include "flush/costs.h"
#include "memory/outputs.h"
#include "memory/sharing.h"
#include "planning/parts.h"
#include "planning/shapes.h"

namespace gpuos::bridge {
namespace {

using Arguments = c10::ArrayRef<c10::IValue>;

/// The most multiplications of a product that is deferred. It is an estimate,
/// which has not been measured on a GPU.
constexpr std::int64_t kMostProducts = 1 << 16;

/// An operand with a dimension for each of batch, row, column and sum that the
/// operator has. It has size 1 where it does not depend on one.
struct Factor {
  const Tensor* tensor = nullptr;
  Dims sizes{};
  Dims strides{};

  void add(std::int64_t dim) {
    sizes.push_back(tensor->size(dim));
    strides.push_back(tensor->stride(dim));
  }
  /// Adds a dimension of that size in which all elements are the same.
  void add_repeated(std::int64_t size = 1) {
    sizes.push_back(size);
    strides.push_back(0);
  }
};

/// Returns whether the product of the tensor is deferred.
bool is_usable(const Tensor& tensor, const Tensor& first, std::int64_t rank) {
  return is_usual_tensor(tensor) && is_aligned(tensor) && !is_shared(tensor) &&
         !tensor.is_inference() && tensor.is_floating_point() &&
         tensor.dim() == rank && tensor.scalar_type() == first.scalar_type() &&
         tensor.device() == first.device();
}

void add_array(Deferred& deferred, const Factor& factor) {
  Request& request = deferred.request;
  const std::size_t i = request.operands++;
  const DType dtype = *dtype_of(factor.tensor->scalar_type());
  void* const data = address_of(*factor.tensor);
  put_array(request, i, *factor.tensor, dtype, data);
  deferred.needs.add(*factor.tensor);
  deferred.views.push_back(view_of(data, dtype, factor.sizes, factor.strides));
}

/// Sums over the last dimension. `more` is added to the sums, if it has a
/// tensor.
Tensor plan_factors(const Factor& a, const Factor& b, const Factor& more,
                    std::vector<Deferred>& requests, const Site*& site) {
  const std::int64_t products = c10::multiply_integers(a.sizes);
  if (products == 0 || products > kMostProducts) {
    is_passed_to_pytorch = products != 0;
    return {};
  }
  site = &current_site(a.tensor->device());
  const std::size_t last = a.sizes.size() - 1;
  Dims shape(a.sizes.begin(), a.sizes.begin() + last);
  const at::ScalarType type = a.tensor->scalar_type();
  Tensor out = make_output(shape, {}, type, *site);
  Deferred& deferred = requests.emplace_back();
  Request& request = deferred.request;
  request.function = function_of(
      more.tensor == nullptr ? Function::Product : Function::ProductPlus);
  request.compute = *dtype_of(opmath_of(type));
  request.out_dtype = *dtype_of(type);
  request.axes = static_cast<std::uint8_t>(1u << last);
  put_out(request, out, true, address_of(out));
  deferred.views.push_back(
      view_of(request.out, request.out_dtype, out.sizes(), out.strides()));
  add_array(deferred, a);
  add_array(deferred, b);
  if (more.tensor != nullptr) add_array(deferred, more);
  deferred.needs.add_out(out);
  return out;
}

/// The product of (batches of) a matrix with a matrix. `kRank` is 2 or 3.
template <std::int64_t kRank>
Tensor plan_matrices(const Tensor& a, const Tensor& b, const Tensor* more,
                     std::vector<Deferred>& requests, const Site*& site) {
  if (!is_usable(a, a, kRank) || !is_usable(b, a, kRank) ||
      a.size(-1) != b.size(-2) || (kRank == 3 && a.size(0) != b.size(0)))
    return {};
  Factor x{.tensor = &a};
  Factor y{.tensor = &b};
  Factor z{.tensor = more};
  if (kRank == 3) {
    x.add(0);
    y.add(0);
  }
  x.add(kRank - 2);
  x.add_repeated(b.size(-1));
  x.add(kRank - 1);
  y.add_repeated();
  y.add(kRank - 1);
  y.add(kRank - 2);
  if (more != nullptr) {
    if (!is_usable(*more, a, more->dim()) || more->dim() > kRank) return {};
    for (std::int64_t d = 0; d < kRank; ++d) {
      const std::int64_t own = d - (kRank - more->dim());
      if (own < 0 || more->size(own) == 1)
        z.add_repeated();
      else if (more->size(own) == x.sizes[static_cast<std::size_t>(d)])
        z.add(own);
      else
        return {};
    }
    z.add_repeated();
  }
  return plan_factors(x, y, z, requests, site);
}

/// mm(a, b), bmm(a, b)
template <std::int64_t kRank>
Tensor plan_product(Arguments arguments, std::vector<Deferred>& requests,
                    const Site*& site) {
  return plan_matrices<kRank>(arguments[0].toTensor(), arguments[1].toTensor(),
                              nullptr, requests, site);
}

bool is_one(const c10::IValue& number) {
  const c10::Scalar value = number.toScalar();
  return !value.isComplex() && value.toDouble() == 1.0;
}

/// addmm(more, a, b, beta, alpha), baddbmm(...)
template <std::int64_t kRank>
Tensor plan_sum(Arguments arguments, std::vector<Deferred>& requests,
                const Site*& site) {
  if (!is_one(arguments[3]) || !is_one(arguments[4])) return {};
  return plan_matrices<kRank>(arguments[1].toTensor(), arguments[2].toTensor(),
                              &arguments[0].toTensor(), requests, site);
}

/// mv(a, b), dot(a, b): `kRank` is that of a.
template <std::int64_t kRank>
Tensor plan_vector(Arguments arguments, std::vector<Deferred>& requests,
                   const Site*& site) {
  const Tensor& a = arguments[0].toTensor();
  const Tensor& b = arguments[1].toTensor();
  if (!is_usable(a, a, kRank) || !is_usable(b, a, 1) || a.size(-1) != b.size(0))
    return {};
  Factor x{.tensor = &a};
  Factor y{.tensor = &b};
  if (kRank == 2) {
    x.add(0);
    y.add_repeated();
  }
  x.add(kRank - 1);
  y.add(0);
  return plan_factors(x, y, {}, requests, site);
}

constexpr PlannedName kNames[] = {
    {"mm", &plan_product<2>, false}, {"bmm", &plan_product<3>, false},
    {"addmm", &plan_sum<2>, false},  {"baddbmm", &plan_sum<3>, false},
    {"mv", &plan_vector<2>, false},  {"dot", &plan_vector<1>, false},
};

}  // namespace

const std::span<const PlannedName> kProducts = kNames;

}  // namespace gpuos::bridge
