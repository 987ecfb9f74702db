// Arrays with foreign shapes and strides: their reported properties, and a sum
// over them, compared with plain index arithmetic.
#include <array>
#include <map>
#include <set>

#include "expression/expression.h"
#include "gpuos/error.h"
#include "program/call_checks.h"
#include "small_arrays.h"
#include "target.h"

namespace gpuos::fuzz {
namespace {

using Wide = __int128;  // no product of two numbers of a layout overflows it
using Memory = std::vector<std::int64_t>;

constexpr int kMostAxes = 4;
constexpr std::int64_t kElements = 512;  // of the memory that is walked through

/// The places of elements in memory, in C order of their indices.
using Places = std::vector<std::int64_t>;

std::int64_t draw_number(Bytes& bytes, int low, int high) {
  const std::uint8_t kind = bytes.number();
  if (kind < 250) return low + kind % (high - low + 1);
  return bytes.number<std::int64_t>();
}

TensorView draw_view(Bytes& bytes, std::int64_t* memory) {
  TensorView view;
  const std::uint8_t form = bytes.number();
  view.dtype = DType::Int64;
  view.dims = form % (kMostAxes + 1);
  view.has_strides = (form & 0x40) != 0;
  view.read_only = form >= 0xf0;
  for (std::size_t d = 0; d < view.dims; ++d) {
    view.shape[d] = draw_number(bytes, 0, 6);
    if (view.has_strides) view.strides[d] = draw_number(bytes, -12, 13);
  }
  view.data = memory + bytes.number() * 2;
  return view;
}

/// The elements from the lowest to the highest one, seen from the first, and
/// how many there are. Empty: numbers that no memory has.
struct Reach {
  Wide low = 0;
  Wide high = 0;
  Wide count = 1;
};

bool find_reach(const TensorView& view, Reach& reach) {
  constexpr Wide kMost = Wide{1} << 58;
  Wide next = 1;
  for (std::size_t d = view.dims; d-- > 0;) {
    const Wide size = view.shape[d];
    const Wide stride = view.has_strides ? Wide{view.strides[d]} : next;
    const Wide length = (size - 1) * stride;
    if (size < 0 || size > kMost || length > kMost || length < -kMost)
      return false;
    (length < 0 ? reach.low : reach.high) += length;
    // A shape with a 0 has no elements, but its other sizes count.
    next *= std::max(size, Wide{1});
    reach.count *= size;
    if (next > kMost) return false;
  }
  return true;
}

void check_told(const TensorView& view, const Reach& reach) {
  expect(view.size() == reach.count, "a view has as many elements");
  const ByteRange range = view.byte_range();
  if (reach.count == 0) {
    expect(range.low == range.high, "what is empty covers nothing");
    return;
  }
  // Addresses are modulo 2^64; a view that begins below address 0 is invalid.
  const auto at = [&](Wide elements) {
    return reinterpret_cast<std::uint64_t>(view.data) +
           static_cast<std::uint64_t>(elements * 8);
  };
  expect(range.low == at(reach.low) && range.high == at(reach.high + 1),
         "a view covers its elements");
}

Places places_of(const TensorView& view, const std::int64_t* memory) {
  Places places;
  const auto strides = view.element_strides();
  if (view.size() == 0) return places;
  std::array<std::int64_t, kMaxDims> index{};
  for (;;) {
    std::int64_t place = static_cast<std::int64_t*>(view.data) - memory;
    for (std::size_t d = 0; d < view.dims; ++d) place += index[d] * strides[d];
    places.push_back(place);
    std::size_t d = view.dims;
    while (d > 0 && ++index[d - 1] == view.shape[d - 1]) index[--d] = 0;
    if (d == 0) return places;
  }
}

/// The view with the shape of `to`, as broadcasting says; empty: it has none.
bool broadcast(TensorView& view, const TensorView& to) {
  const auto strides = view.element_strides();
  TensorView wide = to;
  wide.data = view.data;
  wide.has_strides = true;
  if (view.dims > to.dims) return false;
  for (std::size_t d = 0; d < to.dims; ++d) {
    const std::size_t added = to.dims - view.dims;
    wide.strides[d] = 0;
    if (d < added || view.shape[d - added] == 1) continue;
    if (view.shape[d - added] != to.shape[d]) return false;
    wide.strides[d] = strides[d - added];
  }
  view = wide;
  return true;
}

/// Returns whether the common shape of both equals the shape of `out`.
bool is_common(const TensorView& x, const TensorView& y,
               const TensorView& out) {
  if (out.dims != std::max(x.dims, y.dims)) return false;
  for (std::size_t d = 0; d < out.dims; ++d) {
    const auto size_in = [&](const TensorView& view) -> std::int64_t {
      const std::size_t added = out.dims - view.dims;
      return d < added ? 1 : view.shape[d - added];
    };
    if (size_in(x) == 1 && size_in(y) == 1 && out.shape[d] != 1) return false;
  }
  return true;
}

const Program& sum_of(int x, int y) {
  static std::map<std::pair<int, int>, Program> known;
  auto found = known.find({x, y});
  if (found != known.end()) return found->second;
  const std::array arguments{ProgramArgument{DType::Int64, x},
                             ProgramArgument{DType::Int64, y}};
  return known[{x, y}] = program_of(parse_expression("o = x + y", {}),
                                    arguments, {DType::Int64, std::max(x, y)});
}

/// Returns whether the bytes between the ends of both meet.
bool do_meet(const TensorView& a, const TensorView& b) {
  const ByteRange one = a.byte_range();
  const ByteRange other = b.byte_range();
  return one.low < other.high && other.low < one.high;
}

struct World {
  Memory& memory;
  TensorView x, y, out;
};

bool is_added(const World& world) {
  const std::array inputs{world.x, world.y};
  try {
    host_runtime().submit(sum_of(world.x.dims, world.y.dims), inputs,
                          {&world.out, 1});
    host_runtime().synchronize(std::chrono::seconds(60));
  } catch (const InvalidArgument&) {
    return false;
  }
  return true;
}

void check_sum(const World& world) {
  auto [memory, x, y, out] = world;
  const Memory before = memory;
  const bool is_done = is_added(world);
  const Places places = places_of(out, memory.data());
  const std::set<std::int64_t> different(places.begin(), places.end());
  const bool lies_apart = different.size() == places.size();
  const bool fits =
      is_common(x, y, out) && broadcast(x, out) && broadcast(y, out);
  if (!is_done) {
    expect(memory == before, "what is refused writes nothing");
    expect(!fits || !lies_apart || out.read_only || do_meet(out, world.x) ||
               do_meet(out, world.y),
           "what is refused is wrong");
    return;
  }
  expect(fits, "shapes that do not go together are refused");
  expect(!out.read_only, "an output that is read-only is refused");
  expect(lies_apart, "an output that overlaps itself is refused");
  Memory wanted = before;
  const Places from_x = places_of(x, memory.data());
  const Places from_y = places_of(y, memory.data());
  for (std::size_t i = 0; i < places.size(); ++i)
    wanted[static_cast<std::size_t>(places[i])] =
        before[static_cast<std::size_t>(from_x[i])] +
        before[static_cast<std::size_t>(from_y[i])];
  expect(memory == wanted, "a sum is that of the elements");
}

void check_overlaps(const TensorView& a, const TensorView& b,
                    const std::int64_t* memory) {
  const Places of_a = places_of(a, memory);
  const Places of_b = places_of(b, memory);
  const std::set<std::int64_t> all(of_a.begin(), of_a.end());
  const bool share = std::ranges::any_of(
      of_b, [&](std::int64_t place) { return all.contains(place); });
  expect(program::share_memory(a, b) == share, "arrays share what they share");
  expect(program::overlaps_itself(a) == (all.size() != of_a.size()),
         "an array overlaps itself where it does");
}

void check(Bytes& bytes) {
  Memory memory(kElements);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::int64_t>(i * i + 1);
  World world{memory, {}, {}, {}};
  for (TensorView* const view : {&world.x, &world.y, &world.out}) {
    *view = draw_view(bytes, memory.data());
    Reach reach;
    if (!find_reach(*view, reach)) return;
    check_told(*view, reach);
    // Only elements inside the memory can be visited.
    const Wide first = static_cast<std::int64_t*>(view->data) - memory.data();
    if (reach.count > kElements || first + reach.low < 0 ||
        first + reach.high >= kElements)
      return;
  }
  check_overlaps(world.x, world.y, memory.data());
  check_overlaps(world.out, world.x, memory.data());
  check_sum(world);
}

}  // namespace
}  // namespace gpuos::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  gpuos::fuzz::Bytes bytes(gpuos::fuzz::text_of(data, size));
  gpuos::fuzz::check(bytes);
  return 0;
}
