#include "call.h"

#include <algorithm>
#include <limits>

#include "bounds.h"
#include "concat.h"
#include "gpuos/error.h"

namespace gpuos {
namespace {

// Building a message is kept out of the checks' hot path.
template <typename... Parts>
[[noreturn, gnu::cold, gnu::noinline]] void refuse(const OperatorRecord& op,
                                                   const Parts&... parts) {
  throw InvalidArgument(concat(op.name, ": ", parts...));
}

std::string label(std::size_t index) {
  return index == 0 ? "out" : concat("input ", index - 1);
}

void check_inputs(const OperatorRecord& op, std::size_t count) {
  if (op.inputs >= 0 && count != static_cast<std::size_t>(op.inputs))
    refuse(op, "expected ", op.inputs, " inputs, got ", count);
  if (1 + count + op.params.size() > abi::kMaxArgs)
    refuse(op, "expected at most ", abi::kMaxArgs, " arguments, got ",
           1 + count + op.params.size());
}

inline void check_address(const OperatorRecord& op, std::size_t index,
                          std::uint64_t address, std::size_t elem_bytes) {
  if (address == 0) refuse(op, label(index), " is a null buffer");
  // A power of two: the remainder without a division.
  if ((address & (elem_bytes - 1)) != 0)
    refuse(op, label(index), ": expected an address that is a multiple of ",
           elem_bytes, ", got ", address);
}

inline void check_contiguous(const OperatorRecord& op, std::size_t index,
                             const TensorView& view) {
  if (!view.is_contiguous())
    refuse(op, label(index), ": expected a contiguous array in C order, got ",
           to_string(view));
}

bool same_shape(const TensorView& a, const TensorView& b) noexcept {
  if (a.dims != b.dims) return false;
  // Not std::equal(): a call of memcmp() takes longer than a few words.
  for (std::size_t i = 0; i < a.dims; ++i) {
    if (a.shape[i] != b.shape[i]) return false;
  }
  return true;
}

void add_params(Call& call, std::span<const Scalar> params) {
  const OperatorRecord& op = *call.op;
  if (params.size() != op.params.size())
    refuse(op, "expected ", op.params.size(), " scalars, got ", params.size());
  for (std::size_t i = 0; i < params.size(); ++i) {
    // A built-in's scalar has the dtype of its buffers.
    const DType dtype = op.is_builtin ? call.dtype : op.params[i].dtype;
    call.args[call.buffers + i] = params[i].bits_as(dtype);
  }
  call.arg_count = call.buffers + static_cast<std::uint32_t>(params.size());
}

void add_buffer(Call& call, std::size_t index, std::uint64_t address,
                DType dtype, std::uint64_t size) {
  const std::size_t elem_bytes = size_of(dtype);
  check_address(*call.op, index, address, elem_bytes);
  call.args[index] = address;
  call.accesses[call.access_count++] = {address, address + size * elem_bytes,
                                        index == 0};
}
void add_buffer(Call& call, std::size_t index, const TensorView& view,
                std::int64_t size) {
  add_buffer(call, index, reinterpret_cast<std::uint64_t>(view.data),
             view.dtype, static_cast<std::uint64_t>(size));
}

Bounds bounds_of(const Column& column, std::size_t tasks) {
  if (column.addresses != nullptr)
    return gpuos::bounds_of(column.addresses, tasks);
  const std::uint64_t first = column.at(0);
  const std::uint64_t last = column.at(tasks - 1);
  return {std::min(first, last), std::max(first, last),
          first | static_cast<std::uint64_t>(column.step_bytes)};
}

void check_overlap(const Call& call) {
  const Access& out = call.accesses[0];
  for (std::uint32_t i = 1; i < call.access_count; ++i) {
    const Access& in = call.accesses[i];
    if (in.low < out.high && out.low < in.high &&
        (in.low != out.low || in.high != out.high))
      refuse(*call.op, "out overlaps ", label(i),
             " without being the same buffer");
  }
}

}  // namespace

namespace {

[[noreturn, gnu::cold, gnu::noinline]] void refuse_dtype(
    const OperatorRecord& op, DType dtype) {
  if (!op.is_defined.load())
    refuse(op, "expected a defined operator, but it was undefined");
  std::string known;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (op.slots[i].load() >= 0)
      known +=
          concat(known.empty() ? "" : " or ", name_of(static_cast<DType>(i)));
  }
  refuse(op, "expected buffers of ", known, ", got ", name_of(dtype));
}

}  // namespace

void resolve(Call& call) {
  for (;;) {
    call.op = &call.named->resolved();
    // Pairs with the stores in OperatorRegistry.
    const std::int32_t slot =
        call.op->slots[static_cast<std::size_t>(call.dtype)].load(
            std::memory_order_acquire);
    if (slot >= 0) {
      call.slot = static_cast<std::uint32_t>(slot);
      return;
    }
    // An alias may have left a target that was undefined then.
    if (call.op == &call.named->resolved()) refuse_dtype(*call.op, call.dtype);
  }
}

Call make_call(const OperatorRecord& named, std::span<const TensorView> inputs,
               const TensorView& out, const std::span<const Scalar>& params) {
  Call call;
  call.named = &named;
  call.dtype = out.dtype;
  resolve(call);
  const OperatorRecord& op = *call.op;
  check_inputs(op, inputs.size());
  call.buffers = 1 + static_cast<std::uint32_t>(inputs.size());
  if (out.read_only) refuse(op, "out is read-only");
  const std::int64_t size = out.size();
  if (size < 0)
    refuse(op, "expected sizes of at least 0, got out ", to_string(out));
  check_contiguous(op, 0, out);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const TensorView& in = inputs[i];
    check_contiguous(op, i + 1, in);
    if (in.dtype != out.dtype)
      refuse(op, "expected one dtype, got ", label(i + 1), " ", to_string(in),
             " and out ", to_string(out));
    if (op.elementwise && !same_shape(in, out))
      refuse(op, "expected one shape, got ", label(i + 1), " ", to_string(in),
             " and out ", to_string(out));
    if (!op.elementwise && in.size() < 0)
      refuse(op, "expected sizes of at least 0, got ", label(i + 1), " ",
             to_string(in));
  }
  add_params(call, params);
  call.count = static_cast<std::uint64_t>(size);
  if (size == 0) return call;
  add_buffer(call, 0, out, size);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t elems = op.elementwise ? size : inputs[i].size();
    // Nothing is read from an empty input, so it may be null.
    if (elems == 0)
      call.args[i + 1] = 0;
    else
      add_buffer(call, i + 1, inputs[i], elems);
  }
  if (op.elementwise) check_overlap(call);
  if (!op.elementwise && call.count > std::numeric_limits<std::uint32_t>::max())
    refuse(op, "expected at most ", std::numeric_limits<std::uint32_t>::max(),
           " elements in one piece, got ", call.count);
  return call;
}

void write_call(Call& call, const OperatorRecord& named, DType dtype,
                std::uint64_t elems, std::span<const std::uint64_t> addresses,
                std::span<const Scalar> params) {
  call.named = &named;
  call.dtype = dtype;
  resolve(call);
  check_inputs(*call.op, addresses.size() - 1);
  call.buffers = static_cast<std::uint32_t>(addresses.size());
  add_params(call, params);
  call.count = elems;
  call.tiles = 0;
  call.access_count = 0;
  if (elems == 0) return;
  for (std::size_t i = 0; i < addresses.size(); ++i)
    add_buffer(call, i, addresses[i], dtype, elems);
  check_overlap(call);
}

Call make_many_call(const OperatorRecord& named, const ManyTasks& many) {
  Call call;
  call.named = &named;
  call.dtype = many.dtype;
  resolve(call);
  const OperatorRecord& op = *call.op;
  check_inputs(op, many.inputs.size());
  call.buffers = 1 + static_cast<std::uint32_t>(many.inputs.size());
  add_params(call, many.params);
  std::int64_t largest = many.size;
  if (many.sizes != nullptr) {
    const auto [low, high] =
        std::minmax_element(many.sizes, many.sizes + many.tasks);
    largest = many.tasks == 0 ? 0 : *high;
    if (many.tasks != 0 && *low < 0)
      refuse(op, "expected sizes of at least 0, got ", *low);
  }
  if (largest < 0) refuse(op, "expected a size of at least 0, got ", largest);
  if (largest > std::numeric_limits<std::uint32_t>::max())
    refuse(op, "expected at most ", std::numeric_limits<std::uint32_t>::max(),
           " elements a task, got ", largest);
  call.count = static_cast<std::uint64_t>(largest);
  if (many.tasks == 0 || largest == 0) return call;

  const std::size_t elem_bytes = size_of(many.dtype);
  for (std::size_t k = 0; k < call.buffers; ++k) {
    const Column& column = k == 0 ? many.out : many.inputs[k - 1];
    const Bounds bounds = bounds_of(column, many.tasks);
    check_address(op, k, bounds.low, 1);
    check_address(op, k, bounds.bits, elem_bytes);
    call.accesses[call.access_count++] = {
        bounds.low, bounds.high + call.count * elem_bytes, k == 0};
  }
  return call;
}

}  // namespace gpuos
