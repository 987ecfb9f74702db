#include "gpuos/known_values.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "gpuos/error.h"
#include "program/graph/graph.h"
#include "program/loops/loop_table.h"
#include "program/passes/compute_type.h"
#include "program/passes/operations.h"
#include "requests/alias_analysis.h"
#include "requests/fused_requests.h"

namespace gpuos {
namespace requests {
namespace {

using program::Graph;
using program::Node;
using program::Operation;
using program::Step;

// More owners than a program reads values of.
constexpr std::size_t kMostOwners = 4096;

/// The cells of a value, one for each element.
using Cells = std::vector<std::byte>;

std::size_t cell_bytes(DType dtype) { return 4 * program::cells_of(dtype); }

/// Returns whether the cell of a value has the bits of its memory, or is 0 or 1
/// for a bool.
bool has_plain_cells(DType dtype) noexcept {
  switch (dtype) {
    case DType::Bool:
    case DType::Int32:
    case DType::Int64:
    case DType::Float32:
    case DType::Float64:
      return true;
    default:
      return false;
  }
}

/// Returns whether the host computes the same bits: every device does, or it is
/// the device.
bool is_exact(const Graph& graph, const Node& node, bool is_host) {
  if (!has_plain_cells(node.dtype)) return false;
  const auto operand = [&](std::size_t i) {
    return graph.nodes[node.operands[i]].dtype;
  };
  switch (node.op) {
    case Op::Input:
    case Op::Scalar:
    case Op::Where:
    case Op::Negative:
    case Op::Square:
    case Op::Sign:
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::Absolute:
    case Op::Invert:
    case Op::Rint:
    case Op::Add:
    case Op::Subtract:
    case Op::Multiply:
    case Op::Maximum:
    case Op::Minimum:
    case Op::Fmax:
    case Op::Fmin:
    case Op::Nextafter:
    case Op::Copysign:
    case Op::BitwiseAnd:
    case Op::BitwiseOr:
    case Op::BitwiseXor:
    case Op::Less:
    case Op::LessEqual:
    case Op::Equal:
    case Op::NotEqual:
    case Op::Isnan:
    case Op::Isinf:
    case Op::Isfinite:
    case Op::Signbit:
      return true;
    case Op::Cast:
      // Devices differ in reals that no integer holds.
      return is_floating(node.dtype) || node.dtype == DType::Bool ||
             !is_floating(operand(0));
    case Op::Divide:
    case Op::Reciprocal:
    case Op::Sqrt:
      return is_floating(operand(0));
    case Op::Sum:
    case Op::Prod:
    case Op::Max:
    case Op::Min:
      return !is_floating(operand(0));
    default:
      return is_host && (info_of(node.op).rule == OpRule::Real ||
                         info_of(node.op).rule == OpRule::Arithmetic);
  }
}

}  // namespace

/// Computes one request. Its memory is used again.
class Evaluation {
 public:
  /// `operands` are the cells of the inputs, in order. False: a value of rows
  /// meets one of elements.
  /// Throws: InvalidArgument for a number that does not fit its dtype.
  bool run(const Value& result, const Request& request,
           std::span<const Cells> operands, std::size_t count) {
    const Graph& graph = *result.graph();
    values_.resize(std::max(values_.size(), graph.nodes.size()));
    counts_.resize(values_.size());
    for (std::uint32_t i = 0; i <= result.id(); ++i) {
      const Node& node = graph.nodes[i];
      counts_[i] = count;
      if (node.op == Op::Input)
        values_[i] = operands[node.index];
      else if (node.op == Op::Scalar)
        fill(graph, i, request);
      else if (program::is_reduction(node))
        reduce(graph, i);
      else if (!compute(graph, i))
        return false;
    }
    return true;
  }
  const Cells& value(const Value& result) const { return values_[result.id()]; }

 private:
  void fill(const Graph& graph, std::uint32_t place, const Request& request) {
    const Node& node = graph.nodes[place];
    const program::ScalarSource& source = graph.scalars[node.index];
    std::uint64_t bits = 0;
    if (source.literal) {
      bits = source.literal->bits_as(node.dtype);
    } else {
      // The scalars are the request's numbers in their order.
      std::uint32_t left = source.argument;
      for (std::size_t i = 0; i < request.operands; ++i)
        if (is_number(request, i) && left-- == 0)
          bits = requests::number_of(request, i).bits_as(node.dtype);
    }
    const std::size_t size = cell_bytes(node.dtype);
    Cells& cells = values_[place];
    cells.resize(counts_[place] * size);
    for (std::size_t i = 0; i < counts_[place]; ++i)
      std::memcpy(&cells[i * size], &bits, size);
  }

  Step step_of(const Graph& graph, const Node& node) const {
    const std::size_t last = program::operand_count(node) - 1;
    return {.kind = program::is_reduction(node) ? Step::Kind::Reduce
                                                : Step::Kind::Compute,
            .op = node.op,
            .may_be_empty = node.may_be_empty,
            .dtype = node.dtype,
            .from = graph.nodes[node.operands[last]].dtype};
  }

  static void call(const Operation& operation,
                   const program::LoopOperands& operands) {
    const auto opcode = program::opcode_of(operation.code, operation.type);
    program::loop_table().loops[opcode](operands);
  }

  bool compute(const Graph& graph, std::uint32_t place) {
    const Node& node = graph.nodes[place];
    const std::size_t operands = program::operand_count(node);
    // A number has as many cells as there are elements.
    std::size_t count = counts_[place];
    for (std::size_t i = 0; i < operands; ++i)
      count = std::min(count, counts_[node.operands[i]]);
    for (std::size_t i = 0; i < operands; ++i)
      if (counts_[node.operands[i]] != count &&
          graph.nodes[node.operands[i]].op != Op::Scalar)
        return false;
    counts_[place] = count;
    std::array<const void*, 3> cells{};
    for (std::size_t i = 0; i < operands; ++i)
      cells[i] = values_[node.operands[i]].data();
    const auto steps = program::operations_of(step_of(graph, node));
    Cells& out = values_[place];
    if (steps.empty()) {
      out = values_[node.operands[0]];
      return true;
    }
    // A conversion's operand may have larger cells than its result.
    out.assign(count * 2 * sizeof(std::uint64_t), std::byte{});
    Cells before;
    for (const Operation& operation : steps) {
      call(operation, {.out = out.data(),
                       .a = cells[0],
                       .b = cells[1],
                       .c = cells[2],
                       .count = count});
      if (&operation == &steps.back()) break;
      before = out;
      cells = {before.data(), nullptr, nullptr};
    }
    out.resize(count * cell_bytes(node.dtype));
    return true;
  }

  void reduce(const Graph& graph, std::uint32_t place) {
    const Node& node = graph.nodes[place];
    const Step step = step_of(graph, node);
    const Cells& in = values_[node.operands[0]];
    const program::Type type = program::reduction_type(step);
    const auto codes = program::reduction_codes(node.op);
    const std::size_t size = 4 * program::cells_of(type);
    counts_[place] = 1;
    Cells& out = values_[place];
    out.assign(2 * sizeof(std::uint64_t), std::byte{});
    call({codes.init, type}, {.out = out.data(), .count = 1});
    for (std::size_t i = 0; i < counts_[node.operands[0]]; ++i)
      call({codes.step, type},
           {.out = out.data(), .a = &in[i * size], .count = 1});
    for (const Operation& operation : program::after_reduction(step)) {
      const Cells before = out;
      call(operation, {.out = out.data(), .a = before.data(), .count = 1});
    }
    out.resize(cell_bytes(node.dtype));
  }

  std::vector<Cells> values_;
  std::vector<std::size_t> counts_;
};

namespace {

/// Returns the cells of the elements at these places of memory.
void load(DType dtype, const std::byte* memory,
          std::span<const std::int64_t> places, Cells& cells) {
  const std::size_t size = cell_bytes(dtype);
  const std::size_t stored = size_of(dtype);
  cells.assign(places.size() * size, std::byte{});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::byte* from =
        memory + places[i] * static_cast<std::int64_t>(stored);
    if (dtype == DType::Bool)
      cells[i * size] = std::byte{*from != std::byte{0}};
    else
      std::memcpy(&cells[i * size], from, stored);
  }
}

/// Returns the distance of each element from the first. Units: elements.
void places_of(const TensorView& view, std::vector<std::int64_t>& places) {
  const auto strides = view.element_strides();
  places.assign(1, 0);
  for (std::size_t d = 0; d < view.dims; ++d) {
    const std::size_t before = places.size();
    std::vector<std::int64_t> longer;
    longer.reserve(before * static_cast<std::size_t>(view.shape[d]));
    for (const std::int64_t place : places)
      for (std::int64_t i = 0; i < view.shape[d]; ++i)
        longer.push_back(place + i * strides[d]);
    places = std::move(longer);
  }
}

}  // namespace
}  // namespace requests

using requests::is_number;

class KnownValues::Impl {
 public:
  explicit Impl(bool reads_memory) : reads_memory_(reads_memory) {}

  void take(const Request& request, std::span<const TensorView> views) {
    if (is_blind_) return;
    const auto found = owners_.find(request.out_owner);
    // The host knows other memory only if it was told or may read it.
    const bool may_follow =
        request.is_fresh || reads_memory_ || found != owners_.end();
    if (!may_follow) return;
    const std::size_t bytes = request.elems * size_of(request.out_dtype);
    if (bytes <= kMostBytes && is_dense(request, views) &&
        compute(request, views)) {
      Memory& memory = owner(request.out_owner);
      const auto* out = static_cast<const std::byte*>(request.out);
      if (request.is_fresh || !memory.has(out, bytes)) {
        memory.begin = out;
        memory.values.resize(bytes);
      }
      store(request, memory.values.data() + (out - memory.begin));
    } else if (reads_memory_) {
      owner(request.out_owner).values.clear();
    } else if (found != owners_.end()) {
      owners_.erase(found);
    }
  }

  bool computes(const Request& request, std::span<const TensorView> views) {
    return result_of(request, views).graph() != nullptr;
  }

  void set(const void* owner, const void* address,
           std::span<const std::byte> values) {
    Memory& memory = owners_[owner];
    memory.begin = static_cast<const std::byte*>(address);
    memory.values.assign(values.begin(), values.end());
  }
  std::span<const std::byte> find(const void* owner, const void* address,
                                  std::size_t bytes) const {
    const auto found = owners_.find(owner);
    const auto* at = static_cast<const std::byte*>(address);
    if (found == owners_.end() || !found->second.has(at, bytes)) return {};
    const Memory& memory = found->second;
    return std::span(memory.values)
        .subspan(static_cast<std::size_t>(at - memory.begin), bytes);
  }
  bool has(const void* owner) const { return owners_.contains(owner); }
  void forget(const void* owner) { owners_.erase(owner); }
  void clear() {
    owners_.clear();
    is_blind_ = false;
  }

 private:
  /// The known values of an owner's memory. There may be none.
  struct Memory {
    const std::byte* begin = nullptr;
    requests::Cells values{};

    bool has(const std::byte* at, std::size_t bytes) const {
      return !values.empty() && at >= begin &&
             at + bytes <= begin + values.size();
    }
  };
  using Key = std::tuple<const RequestFunction*, std::uint64_t, std::uint64_t>;

  Memory& owner(const void* of) {
    if (owners_.size() >= requests::kMostOwners) {
      owners_.clear();
      is_blind_ = reads_memory_;
    }
    return owners_[of];
  }
  static bool is_dense(const Request& request,
                       std::span<const TensorView> views) {
    return request.views == Request::kFlat ||
           views[request.views].is_contiguous();
  }
  /// Returns the view of operand `i`, an array.
  static const TensorView* view_of(const Request& request,
                                   std::span<const TensorView> views,
                                   std::size_t i) {
    if (request.views == Request::kFlat) return nullptr;
    std::size_t place = request.views + 1;
    for (std::size_t k = 0; k < i; ++k)
      if (!is_number(request, k)) ++place;
    return &views[place];
  }

  const Value& result_of(const Request& request,
                         std::span<const TensorView> views) {
    static const Value none;
    if (request.elems == 0 || request.elems > kMostElems) return none;
    const bool reduces = is_reducing(request);
    if (!is_elementwise(request) && !reduces) return none;
    if (reduces) {
      const std::int64_t elems = view_of(request, views, 0)->size();
      if (request.elems != 1 || request.operands != 1 || elems < 1 ||
          elems > static_cast<std::int64_t>(kMostElems))
        return none;
    }
    std::uint64_t dtypes = 0;
    for (std::size_t i = 0; i < request.operands; ++i)
      dtypes = dtypes << 8 | static_cast<std::uint8_t>(request.dtypes[i]);
    const std::uint64_t rest = static_cast<std::uint64_t>(request.compute) |
                               static_cast<std::uint64_t>(request.out_dtype)
                                   << 8 |
                               std::uint64_t{request.numbers} << 16 |
                               std::uint64_t{request.axes} << 24;
    const auto [found, is_new] =
        results_.try_emplace(Key{request.function, dtypes, rest});
    if (is_new) found->second = make_result(request);
    return found->second;
  }

  Value make_result(const Request& request) const {
    Value made = requests::result_alone(request);
    if (made.graph() == nullptr) return made;
    const program::Graph& graph = *made.graph();
    const bool is_known =
        std::all_of(graph.nodes.begin(), graph.nodes.begin() + made.id() + 1,
                    [&](const program::Node& node) {
                      return requests::is_exact(graph, node, reads_memory_);
                    });
    return is_known ? made : Value();
  }

  /// Computes the request into `evaluation_`. False: it does not follow.
  bool compute(const Request& request, std::span<const TensorView> views) {
    // Most requests end here.
    for (std::size_t i = 0; i < request.operands; ++i)
      if (!is_number(request, i) && !may_know(request, i)) return false;
    result_ = result_of(request, views);
    if (result_.graph() == nullptr) return false;
    std::size_t count = request.elems;
    std::size_t inputs = 0;
    for (std::size_t i = 0; i < request.operands; ++i) {
      if (is_number(request, i)) continue;
      if (!read(request, i, view_of(request, views, i), operands_[inputs++]))
        return false;
      if (is_reducing(request)) count = places_.size();
    }
    try {
      return evaluation_.run(result_, request, operands_, count);
    } catch (const InvalidArgument&) {
      return false;  // a number does not fit
    }
  }

  bool may_know(const Request& request, std::size_t i) const {
    const auto found = owners_.find(request.owners[i]);
    return found == owners_.end() ? reads_memory_
                                  : !found->second.values.empty();
  }

  bool read(const Request& request, std::size_t i, const TensorView* view,
            requests::Cells& cells) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    const auto* at = reinterpret_cast<const std::byte*>(request.values[i]);
    if (view != nullptr) {
      requests::places_of(*view, places_);
    } else {
      places_.resize(request.elems);
      for (std::size_t k = 0; k < places_.size(); ++k)
        places_[k] = static_cast<std::int64_t>(k);
    }
    const auto [low, high] = std::ranges::minmax(places_);
    const auto size = static_cast<std::int64_t>(size_of(request.dtypes[i]));
    const auto bytes = static_cast<std::size_t>((high - low + 1) * size);
    const auto found = owners_.find(request.owners[i]);
    const std::byte* memory = at;
    if (found != owners_.end()) {
      if (!found->second.has(at + low * size, bytes)) return false;
      memory = found->second.values.data() + (at - found->second.begin);
    }
    requests::load(request.dtypes[i], memory, places_, cells);
    return true;
  }

  void store(const Request& request, std::byte* memory) const {
    const requests::Cells& cells = evaluation_.value(result_);
    const std::size_t size = requests::cell_bytes(request.out_dtype);
    const std::size_t stored = size_of(request.out_dtype);
    for (std::size_t i = 0; i < request.elems; ++i) {
      // A result of numbers alone has one cell.
      const std::size_t from = cells.size() == size ? 0 : i * size;
      std::memcpy(memory + i * stored, &cells[from], stored);
    }
  }

  const bool reads_memory_;
  std::unordered_map<const void*, Memory> owners_;
  // Too many owners were written. All count as written until clear().
  bool is_blind_ = false;
  std::map<Key, Value> results_;
  requests::Evaluation evaluation_;
  Value result_;
  std::array<requests::Cells, kMaxRequestOperands> operands_;
  std::vector<std::int64_t> places_;
};

KnownValues::KnownValues(bool reads_memory)
    : impl_(std::make_unique<Impl>(reads_memory)) {}
KnownValues::~KnownValues() = default;

void KnownValues::take(std::span<const Request> requests,
                       std::span<const TensorView> views) {
  for (const Request& request : requests) impl_->take(request, views);
}
bool KnownValues::computes(const Request& request,
                           std::span<const TensorView> views) {
  return impl_->computes(request, views);
}
void KnownValues::set(const void* owner, const void* address,
                      std::span<const std::byte> values) {
  impl_->set(owner, address, values);
}
std::span<const std::byte> KnownValues::find(const void* owner,
                                             const void* address,
                                             std::size_t bytes) const {
  return impl_->find(owner, address, bytes);
}
bool KnownValues::has(const void* owner) const { return impl_->has(owner); }
void KnownValues::forget(const void* owner) { impl_->forget(owner); }
void KnownValues::clear() { impl_->clear(); }

}  // namespace gpuos
