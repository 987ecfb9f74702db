#include "program/passes/text.h"

#include <algorithm>
#include <array>
#include <bit>

#include "base/concat.h"
#include "gpuos/error.h"
#include "program/passes/compute_type.h"
#include "program/passes/operations.h"

namespace gpuos::program {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

/// The set of free cells.
class Cells {
 public:
  /// Wide values begin at such cells that two of them are the same or apart.
  std::uint8_t take(std::uint32_t count) {
    const std::uint32_t step = std::bit_floor(count);
    for (std::uint32_t first = 0; first + count <= kMaxCells; first += step) {
      const auto begin = used_.begin() + first;
      if (std::find(begin, begin + count, true) != begin + count) continue;
      std::fill_n(begin, count, true);
      most_ = std::max(most_, first + count);
      return static_cast<std::uint8_t>(first);
    }
    throw InvalidArgument(
        concat("build: expected at most ", kMaxCells,
               " cells of 32 bits for values that are needed later, got more; "
               "make several programs of it"));
  }
  void give_back(std::uint8_t first, std::uint32_t count) {
    std::fill_n(used_.begin() + first, count, false);
  }
  std::uint32_t most() const noexcept { return most_; }

 private:
  std::array<bool, kMaxCells> used_{};
  std::uint32_t most_ = 0;
};

/// Turns the steps of a pass into instructions, part by part.
class Writer {
 public:
  explicit Writer(const Pass& pass)
      : pass_(pass), place_(pass.steps.size()), last_(pass.steps.size()) {
    instructions_.reserve(2 * pass.steps.size());
  }

  std::vector<std::uint64_t> write() {
    find_last_uses();
    std::vector<std::uint64_t> ends;
    for (std::size_t part = 0; part < pass_.parts.size(); ++part) {
      write_part(part);
      ends.push_back(instructions_.size());
    }
    const TextHeader header{
        .parts = static_cast<u16>(pass_.parts.size()),
        .cells = static_cast<u16>(std::max(1u, cells_.most())),
        .accesses = static_cast<u16>(pass_.accesses.size()),
        .scalars = static_cast<u8>(pass_.scalars.size()),
        .is_plain = is_plain(ends)};
    std::vector<std::uint64_t> words{std::bit_cast<std::uint64_t>(header)};
    words.insert(words.end(), ends.begin(), ends.end());
    for (const Instruction& instruction : instructions_)
      words.push_back(std::bit_cast<std::uint64_t>(instruction));
    words.insert(words.end(), pass_.constants.begin(), pass_.constants.end());
    return words;
  }

 private:
  /// Returns whether part 1 begins with the last result of part 0. The loop of
  /// plain texts runs both parts in one pass, and reads cells one instruction
  /// ahead.
  bool needs_last_of_row(const std::vector<std::uint64_t>& ends) const {
    if (ends[0] == 0 || ends[0] == ends[1]) return false;
    const Instruction& made = instructions_[ends[0] - 1];
    const Instruction& first = instructions_[ends[0]];
    return made.out != kLast && (first.a == made.out || first.b == made.out);
  }

  bool is_plain(const std::vector<std::uint64_t>& ends) const {
    return !pass_.has_reduction && ends.size() == 3 && ends[1] == ends[2] &&
           ends[2] <= kMostPlain && !needs_last_of_row(ends) &&
           std::ranges::all_of(instructions_, [](const Instruction& x) {
             const auto code = static_cast<Code>(x.opcode >> kTypeBits);
             return code == Code::Load32 || code == Code::Store32 ||
                    code == Code::Scalar32 ||
                    (x.form == kCompute && x.index != kCalled);
           });
  }

  using OperandCells = ShortVector<std::uint8_t, 3>;

  /// A moment: place k of part p. A value that a loop uses but does not make
  /// is needed until the loop is over.
  struct Moment {
    std::size_t part = 0;
    std::size_t index = 0;
    friend auto operator<=>(const Moment&, const Moment&) = default;
  };

  bool is_row(std::uint32_t id) const { return row_[id]; }

  static Code scalar_code(DType dtype) {
    const std::uint32_t cells = cells_of(dtype);
    return cells == 4   ? Code::Scalar128
           : cells == 2 ? Code::Scalar64
                        : Code::Scalar32;
  }

  /// Returns whether it takes or makes values of 128 bits.
  static bool has_pairs(const Step& step) {
    return cells_of(step.dtype) == 4 || cells_of(step.from) == 4;
  }

  /// Returns the last use of a value. Each loop computes its values again,
  /// independent of other loops.
  Moment last_use(std::uint32_t id) const {
    return is_row(id) ? last_[id] : Moment{now_.part, last_in_part_[id]};
  }

  void find_last_uses() {
    row_.assign(pass_.steps.size(), false);
    for (std::size_t part = 0; part < pass_.parts.size(); part += 2)
      for (const std::uint32_t id : pass_.parts[part]) row_[id] = true;
    for (std::uint32_t id = 0; id < pass_.steps.size(); ++id)
      if (pass_.steps[id].kind == Step::Kind::Reduce) row_[id] = true;
    for (std::size_t part = 0; part < pass_.parts.size(); ++part) {
      const auto& steps = pass_.parts[part];
      for (std::size_t k = 0; k < steps.size(); ++k) {
        const Step& step = pass_.steps[steps[k]];
        for (std::size_t i = 0; i < operands_of(step); ++i)
          note_use(step.operands[i], {part, k});
      }
    }
  }

  void note_use(std::uint32_t id, Moment at) {
    // Loops may run again, so values from outside stay until their end.
    if (at.part % 2 == 1 && is_row(id)) at.index = pass_.parts[at.part].size();
    last_[id] = std::max(last_[id], at);
  }

  void find_last_uses_in(std::size_t part) {
    last_in_part_.assign(pass_.steps.size(), 0);
    const auto& steps = pass_.parts[part];
    for (std::size_t k = 0; k < steps.size(); ++k) {
      const Step& step = pass_.steps[steps[k]];
      for (std::size_t i = 0; i < operands_of(step); ++i)
        last_in_part_[step.operands[i]] = k;
    }
  }

  void write_part(std::size_t part) {
    now_ = {part, 0};
    acc_ = kNone;
    find_last_uses_in(part);
    if (part % 2 == 0 && part > 0) join_reductions(part - 1);
    const auto& steps = pass_.parts[part];
    for (std::size_t k = 0; k < steps.size(); ++k) {
      now_ = {part, k};
      next_ = k + 1 < steps.size() ? steps[k + 1] : kNone;
      write_step(steps[k]);
    }
    now_.index = steps.size();
    free_unused();
    if (part % 2 == 0 && part + 1 < pass_.parts.size())
      begin_reductions(part + 1);
  }

  template <typename F>
  void each_reduction(std::size_t loop, F f) {
    for (const std::uint32_t id : pass_.parts[loop])
      if (pass_.steps[id].kind == Step::Kind::Reduce) f(id, pass_.steps[id]);
  }

  void begin_reductions(std::size_t loop) {
    each_reduction(loop, [&](std::uint32_t id, const Step& step) {
      place_[id] = cells_.take(gathered_cells(step));
      held_.push_back(id);
      emit({reduction_codes(step.op).init, reduction_type(step)}, {},
           place_[id], 0);
    });
  }

  void join_reductions(std::size_t loop) {
    each_reduction(loop, [&](std::uint32_t id, const Step& step) {
      emit({reduction_codes(step.op).join, reduction_type(step)}, {},
           place_[id], 0);
      for (const Operation& operation : after_reduction(step))
        emit(operation, {place_[id]}, place_[id], 0);
    });
  }

  void write_step(std::uint32_t id) {
    const Step& step = pass_.steps[id];
    switch (step.kind) {
      case Step::Kind::Load:
        emit_result(id, load_of(step.dtype), {}, step.index);
        break;
      case Step::Kind::Scalar:
        emit_result(id, {scalar_code(step.dtype), compute_type(step.dtype)}, {},
                    step.index);
        break;
      case Step::Kind::Store:
        emit(store_of(step.dtype), operand_cells(step), kLast, step.index);
        free_unused();
        break;
      case Step::Kind::Reduce:
        emit({reduction_codes(step.op).step, reduction_type(step)},
             operand_cells(step), place_[id], 0);
        free_unused();
        break;
      case Step::Kind::Compute:
        write_compute(id, step);
        break;
    }
  }

  void write_compute(std::uint32_t id, const Step& step) {
    const auto operations = operations_of(step);
    if (operations.empty()) {
      write_identity(id, step);
      return;
    }
    auto operands = operand_cells(step);
    for (std::size_t i = 0; i + 1 < operations.size(); ++i) {
      emit(operations[i], operands, kLast, 0);
      operands = {kLast};
    }
    emit_result(id, operations.back(), operands, 0);
  }

  // The operand under another name. Nothing is lost from complex128 to itself.
  void write_identity(std::uint32_t id, const Step& step) {
    const std::uint32_t cells = cells_of(step.from);
    const Code copy = cells == 4   ? Code::ToC128
                      : cells == 2 ? Code::Copy64
                                   : Code::Copy32;
    emit_result(id, {copy, compute_type(step.from)}, operand_cells(step), 0);
  }

  OperandCells operand_cells(const Step& step) const {
    OperandCells cells;
    for (std::size_t i = 0; i < operands_of(step); ++i) {
      // The third operand is always read from a cell, and so are those of 128
      // bits and what goes with them. The others never from
      // one that the instruction before wrote: the device's loops read these
      // cells while it is run (Ahead in device/interpreter/inner_loop.h).
      const std::uint32_t id = step.operands[i];
      const bool is_last = id == acc_ && i < 2 && !has_pairs(step);
      const Step& made = pass_.steps[id];
      // An argmax stores its place after the value.
      const bool is_place = made.op == Op::Argmax || made.op == Op::Argmin;
      const std::uint32_t behind = is_place ? cells_of(made.from) : 0;
      cells.push_back(static_cast<std::uint8_t>(is_last ? std::uint32_t{kLast}
                                                        : place_[id] + behind));
    }
    return cells;
  }

  // Returns whether only the next step uses the value, and can take it from the
  // previous instruction.
  bool is_for_next_only(std::uint32_t id) const {
    if (next_ == kNone || last_use(id) != Moment{now_.part, now_.index + 1})
      return false;
    const Step& next = pass_.steps[next_];
    if (has_pairs(pass_.steps[id]) || has_pairs(next)) return false;
    return next.kind != Step::Kind::Compute || info_of(next.op).operands < 3 ||
           next.operands[2] != id;
  }

  void emit_result(std::uint32_t id, const Operation& operation,
                   const OperandCells& operands, std::uint32_t index) {
    const Step& step = pass_.steps[id];
    // The result may replace an operand of the same width that is not needed
    // any more.
    const std::uint32_t cells = cells_of(step.dtype);
    const bool has_condition = step.op == Op::Where && cells > 1;
    const bool may_replace = step.kind == Step::Kind::Compute &&
                             cells == cells_of(step.from) && !has_condition;
    if (may_replace) free_unused();
    const bool is_kept = !is_for_next_only(id);
    if (is_kept) {
      place_[id] = cells_.take(cells);
      held_.push_back(id);
    }
    emit(operation, operands,
         is_kept ? place_[id] : static_cast<std::uint8_t>(kLast), index);
    acc_ = id;
    if (!may_replace) free_unused();
  }

  // A square is a product, which the device's loops know.
  static Operation known(const Operation& operation) {
    if (operation.code != Code::Square || operation.type != kF32)
      return operation;
    return {Code::Multiply, kF32};
  }

  void emit(const Operation& wanted, const OperandCells& operands,
            std::uint8_t out, std::uint32_t index) {
    const Operation operation = known(wanted);
    Instruction instruction{
        .opcode = opcode_of(operation.code, operation.type),
        .a = kLast,
        .b = kLast,
        .c = kLast,
        .out = out,
        .index =
            static_cast<u8>(index | inlined_of(operation.code, operation.type)),
        .form = form_of(operation)};
    if (!operands.empty()) instruction.a = operands[0];
    if (operands.size() > 1) instruction.b = operands[1];
    if (operation.code != wanted.code) instruction.b = instruction.a;
    if (operands.size() > 2) instruction.c = operands[2];
    instructions_.push_back(instruction);
    acc_ = kNone;
  }

  // Releases the cells of values that are not used any more.
  void free_unused() {
    std::erase_if(held_, [&](std::uint32_t id) {
      if (last_use(id) > now_) return false;
      const Step& step = pass_.steps[id];
      cells_.give_back(place_[id], step.kind == Step::Kind::Reduce
                                       ? gathered_cells(step)
                                       : cells_of(step.dtype));
      return true;
    });
  }

  const Pass& pass_;
  Cells cells_;
  std::vector<Instruction> instructions_;
  std::vector<std::uint8_t> place_;
  std::vector<Moment> last_;  // over all parts
  std::vector<std::size_t> last_in_part_;
  std::vector<bool> row_;
  std::vector<std::uint32_t> held_;
  Moment now_;
  std::uint32_t next_ = kNone;
  std::uint32_t acc_ = kNone;  // whose value the instruction before made
};

}  // namespace

std::vector<std::uint64_t> text_of(const Pass& pass) {
  return Writer(pass).write();
}

}  // namespace gpuos::program
