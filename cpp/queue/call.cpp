#include "queue/call.h"

#include <algorithm>
#include <limits>

#include "base/concat.h"
#include "gpuos/error.h"
#include "queue/operator_record.h"
#include "values/bounds.h"

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

inline void check_inputs(const OperatorRecord& op, std::size_t count) {
  if (op.inputs >= 0) {
    // Few enough, or it could not have been defined.
    if (count != static_cast<std::size_t>(op.inputs))
      refuse(op, "expected ", op.inputs, " inputs, got ", count);
  } else if (1 + count + op.params.size() > abi::kMaxArgs) {
    refuse(op, "expected at most ", abi::kMaxArgs, " arguments, got ",
           1 + count + op.params.size());
  } else if (op.is_checked.load(std::memory_order_relaxed)) {
    const std::size_t most =
        most_checked_buffers(op.params.size(), op.elementwise);
    if (1 + count > most)
      refuse(op, "expected at most ", most - 1,
             " inputs of a checked operator, got ", count);
  }
}

[[noreturn, gnu::cold, gnu::noinline]] void refuse_address(
    const OperatorRecord& op, std::size_t index, std::uint64_t address,
    std::size_t elem_bytes) {
  if (address == 0)
    refuse(op, label(index), ": expected a buffer, got a null address");
  refuse(op, label(index), ": expected an address that is a multiple of ",
         elem_bytes, ", got ", address);
}

inline void check_address(const OperatorRecord& op, std::size_t index,
                          std::uint64_t address, std::size_t elem_bytes) {
  // A power of two: the remainder without a division.
  if (address == 0 || (address & (elem_bytes - 1)) != 0)
    refuse_address(op, index, address, elem_bytes);
}

inline void check_contiguous(const OperatorRecord& op, std::size_t index,
                             const TensorView& view) {
  if (!view.is_contiguous())
    refuse(op, label(index), ": expected a contiguous array in C order, got ",
           to_string(view));
}

inline bool same_shape(const TensorView& a, const TensorView& b) noexcept {
  if (a.dims != b.dims) return false;
  // Not std::equal(): a call of memcmp() takes longer than a few words.
  for (std::size_t i = 0; i < a.dims; ++i) {
    if (a.shape[i] != b.shape[i]) return false;
  }
  return true;
}

/// Returns whether nothing can be wrong with an input of an elementwise
/// operator: the usual case.
inline bool is_usual(const TensorView& in, const TensorView& out) noexcept {
  return in.dims == 1 && out.dims == 1 && !in.has_strides &&
         in.dtype == out.dtype && in.shape[0] == out.shape[0];
}

inline void check_input(const OperatorRecord& op, std::size_t index,
                        const TensorView& in, const TensorView& out) {
  if (op.elementwise && is_usual(in, out)) return;
  check_contiguous(op, index, in);
  if (in.dtype != out.dtype)
    refuse(op, "expected one dtype, got ", label(index), " ", to_string(in),
           " and out ", to_string(out));
  if (!op.elementwise) {
    if (in.size() < 0)
      refuse(op, "expected sizes of at least 0, got ", label(index), " ",
             to_string(in));
  } else if (!same_shape(in, out)) {
    refuse(op, "expected one shape, got ", label(index), " ", to_string(in),
           " and out ", to_string(out));
  }
}

/// Adds default values for parameters that the call does not pass.
[[gnu::cold, gnu::noinline]] void add_fewer_params(
    Call& call, std::span<const Scalar> params) {
  const OperatorRecord& op = *call.op;
  if (!may_be_fewer(op.params, params.size()))
    refuse(op, "expected ", op.params.size(), " scalars, got ", params.size());
  for (std::size_t i = 0; i < op.params.size(); ++i) {
    const Parameter& param = op.params[i];
    const Scalar& value = i < params.size() ? params[i] : *param.default_value;
    call.args[call.buffers + i] = value.bits_as(param.dtype);
  }
  call.arg_count += static_cast<std::uint32_t>(op.params.size());
}

inline void add_params(Call& call, const std::span<const Scalar>& params) {
  const OperatorRecord& op = *call.op;
  call.arg_count = call.buffers;
  if (params.empty() && op.params.empty()) return;
  if (params.size() != op.params.size()) return add_fewer_params(call, params);
  for (std::size_t i = 0; i < params.size(); ++i) {
    // A built-in's scalar has the dtype of its buffers.
    const DType dtype = op.is_builtin ? call.dtype : op.params[i].dtype;
    call.args[call.buffers + i] = params[i].bits_as(dtype);
  }
  call.arg_count += static_cast<std::uint32_t>(params.size());
}

std::uint64_t address_of(const void* data) {
  return reinterpret_cast<std::uint64_t>(data);
}

/// Buffers of an elementwise call, of `bytes` each, which are not 0.
struct Alike {
  Call& call;
  std::uint64_t out;
  std::uint64_t bytes;
  std::size_t elem_bytes = size_of(call.dtype);

  void add_out() const {
    check_address(*call.op, 0, out, elem_bytes);
    call.args[0] = out;
    call.accesses[0] = {out, out + bytes, true};
    call.access_count = 1;
  }
  void add(std::uint32_t index, std::uint64_t address) const {
    call.args[index] = address;
    // The output is known already.
    if (address == out) return;
    check_address(*call.op, index, address, elem_bytes);
    // Nearer to each other than they are long, on either side.
    if (address - out + bytes - 1 < 2 * bytes - 1)
      refuse(*call.op, "out overlaps ", label(index),
             " without being the same buffer");
    call.accesses[call.access_count++] = {address, address + bytes, false};
  }
};

/// A buffer of `size` elements.
void add_buffer(Call& call, std::size_t index, const TensorView& view,
                std::int64_t size) {
  // Nothing is read from an empty input, so it may be null.
  call.args[index] = 0;
  if (size == 0) return;
  const std::size_t elem_bytes = size_of(view.dtype);
  const std::uint64_t address = address_of(view.data);
  check_address(*call.op, index, address, elem_bytes);
  call.args[index] = address;
  call.accesses[call.access_count++] = {
      address, address + static_cast<std::uint64_t>(size) * elem_bytes,
      index == 0};
}

Bounds bounds_of(const Column& column, std::size_t tasks) {
  if (column.addresses != nullptr)
    return gpuos::bounds_of(column.addresses, tasks);
  const std::uint64_t first = column.at(0);
  const std::uint64_t last = column.at(tasks - 1);
  return {std::min(first, last), std::max(first, last),
          first | static_cast<std::uint64_t>(column.step_bytes)};
}

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
  refuse(op, "expected buffers of ", known, ", got ", name_of(dtype),
         op.is_builtin ? ""
                       : "; a source is of one dtype, which `dtype` says "
                         "where it is defined or replaced");
}

/// resolve() for a name whose meaning has changed, or that has no such dtype at
/// first sight.
[[gnu::cold, gnu::noinline]] void resolve_again(Call& call) {
  const OperatorRecord& op = call.named->resolved();
  if (call.op != nullptr && call.op != &op &&
      !has_same_parameters(*call.op, op))
    throw HasChanged(concat(op.name, ": expected other parameters"));
  call.op = &op;
  // An alias may have left a target that was then undefined. An expression gets
  // slots before it loses its body. A record without both may meanwhile have
  // become an expression and another whole operator.
  const auto& slot = op.slots[static_cast<std::size_t>(call.dtype)];
  if (&op == &call.named->resolved() && slot.load() < 0) {
    if (op.has_body.load())
      throw HasChanged(concat(op.name, ": expected an operator with slots"));
    if (op.base != nullptr && &op.base->resolved() != &op)
      throw Superseded(concat(op.name, ": expected the parameters of its ",
                              "current version, got those of another"));
    if (slot.load() < 0) refuse_dtype(op, call.dtype);
  }
  resolve(call);
}

}  // namespace

void resolve(Call& call) {
  const OperatorRecord& now = call.named->resolved();
  // Pairs with the stores in OperatorRegistry.
  const std::int32_t slot =
      now.slots[static_cast<std::size_t>(call.dtype)].load(
          std::memory_order_acquire);
  if (slot < 0 || (call.op != nullptr && call.op != &now)) [[unlikely]]
    return resolve_again(call);
  call.op = &now;
  call.slot = static_cast<std::uint32_t>(slot);
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
  if (out.read_only) refuse(op, "out: expected writable memory, got read-only");
  const std::int64_t size = out.size();
  if (size < 0)
    refuse(op, "expected sizes of at least 0, got out ", to_string(out));
  check_contiguous(op, 0, out);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    check_input(op, i + 1, inputs[i], out);
  add_params(call, params);
  call.count = static_cast<std::uint64_t>(size);
  if (size == 0) return call;
  if (op.elementwise) {
    const Alike buffers{call, address_of(out.data),
                        call.count * size_of(call.dtype)};
    buffers.add_out();
    for (std::uint32_t i = 1; i < call.buffers; ++i)
      buffers.add(i, address_of(inputs[i - 1].data));
    return call;
  }
  add_buffer(call, 0, out, size);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    add_buffer(call, i + 1, inputs[i], inputs[i].size());
  if (call.count > std::numeric_limits<std::uint32_t>::max())
    refuse(op, "expected at most ", std::numeric_limits<std::uint32_t>::max(),
           " elements in one piece, got ", call.count);
  return call;
}

void write_call(Call& call, const OperatorRecord& named, DType dtype,
                std::uint64_t elems, std::span<const std::uint64_t> addresses,
                std::span<const Scalar> params) {
  call.named = &named;
  call.op = nullptr;
  call.dtype = dtype;
  resolve(call);
  check_inputs(*call.op, addresses.size() - 1);
  call.buffers = static_cast<std::uint32_t>(addresses.size());
  add_params(call, params);
  call.count = elems;
  call.tiles = 0;
  call.access_count = 0;
  if (elems == 0) return;
  const Alike buffers{call, addresses[0], elems * size_of(dtype)};
  buffers.add_out();
  for (std::uint32_t i = 1; i < call.buffers; ++i) buffers.add(i, addresses[i]);
}

std::int64_t largest_of(const OperatorRecord& op, const ManyTasks& many) {
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
           " elements per task, got ", largest);
  return largest;
}

void add_column(ManyCall& call, const OperatorRecord& op, std::size_t arg,
                const Column& column, const ManyTasks& many) {
  const bool is_out = &column == &many.out;
  const auto index =
      is_out ? 0 : static_cast<std::size_t>(&column - many.inputs.data()) + 1;
  const Bounds bounds = bounds_of(column, many.tasks);
  const std::size_t elem_bytes = size_of(many.dtype);
  check_address(op, index, bounds.low, 1);
  check_address(op, index, bounds.bits, elem_bytes);
  call.columns[arg] = &column;
  call.accesses[call.access_count++] = {
      bounds.low, bounds.high + call.count * elem_bytes, is_out};
}

ManyCall make_many_call(const OperatorRecord& named, const ManyTasks& many) {
  ManyCall call;
  call.named = &named;
  call.dtype = many.dtype;
  resolve(call);
  const OperatorRecord& op = *call.op;
  check_inputs(op, many.inputs.size());
  call.buffers = 1 + static_cast<std::uint32_t>(many.inputs.size());
  add_params(call, many.params);
  call.count = static_cast<std::uint64_t>(largest_of(op, many));
  if (many.tasks == 0 || call.count == 0) return call;
  add_column(call, op, 0, many.out, many);
  for (std::size_t k = 1; k < call.buffers; ++k)
    add_column(call, op, k, many.inputs[k - 1], many);
  return call;
}

}  // namespace gpuos
