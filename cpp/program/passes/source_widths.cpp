#include <algorithm>

#include "device/interpreter/device_order.h"
#include "device/interpreter/order.h"
#include "program/passes/source.h"
#include "program/passes/source_text.h"

namespace gpuos::program {
namespace {

/// The most work for the elements of a lane: additions and loaded bytes.
constexpr std::size_t kMaxWork = 1024;
constexpr std::size_t kMaxBytes = 64;

/// The work of a column: additions of the longest loop, and loaded bytes.
struct Column {
  std::size_t work = 1;
  std::size_t bytes = 0;
};

Column measure(const Pass& pass, const std::vector<bool>& is_row) {
  Column column;
  for (std::size_t part = 1; part < pass.parts.size(); part += 2) {
    std::size_t work = 1;
    for (const std::uint32_t id : pass.parts[part])
      if (pass.steps[id].kind == Step::Kind::Compute)
        work += cost_of(pass.steps[id]);
    column.work = std::max(column.work, work);
  }
  for (std::uint32_t id = 0; id < pass.steps.size(); ++id) {
    const Step& step = pass.steps[id];
    // Elements that several loops use stay in registers as they were loaded.
    const std::size_t least = pass.loops() > 1 ? 1 : 4;
    if (step.kind == Step::Kind::Load && !is_row[id])
      column.bytes += std::max(least, size_of(step.dtype));
  }
  return column;
}

std::uint32_t pack_of(const Pass& pass, const Column& column) {
  std::size_t widest = 2;
  for (const BufferAccess& access : pass.accesses)
    widest = std::max(widest, size_of(access.dtype));
  std::size_t width = 16 / widest;
  // A long loop takes one element at a time. Twice the code costs more to fetch
  // than it hides (docs/lab/streams.md). Rows are kept in packs.
  const std::size_t least = pass.has_reduction ? 2 : 1;
  while (width > least && width * column.work > kMaxWork) width /= 2;
  return static_cast<std::uint32_t>(width);
}

std::uint32_t elements_of(std::uint32_t pack, const Column& column) {
  std::uint32_t count = pack;
  while (count < 16 && 2 * count * column.bytes <= kMaxBytes &&
         2 * count * column.work <= kMaxWork)
    count *= 2;
  return count;
}

/// A block of the order of additions where a pass has reductions: its partial
/// values need not wait for more of it. Twice the arrays on the stack gain
/// nothing elsewhere.
std::uint32_t host_elements_of(const Pass& pass) {
  if (pass.accesses.size() > 8) return 64;
  return pass.has_reduction ? std::uint32_t{kOrderedBlock} : 128;
}

}  // namespace

Widths widths_of(const Pass& pass, const std::vector<bool>& is_row,
                 Effort effort, bool is_ordered) {
  const std::size_t accesses = pass.accesses.size();
  Widths widths{.host_elements = host_elements_of(pass)};
  if (effort == Effort::Careful) return widths;
  const Column column = measure(pass, is_row);
  widths.pack =
      is_ordered ? std::uint32_t{kPackColumns} : pack_of(pass, column);
  widths.elements = elements_of(widths.pack, column);
  if (column.work <= 64)
    widths.scattered = accesses <= 4 ? 4 : accesses <= 8 ? 2 : 1;
  return widths;
}

}  // namespace gpuos::program
