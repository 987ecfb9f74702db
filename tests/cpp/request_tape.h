#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "program_support.h"
#include "request_support.h"

namespace gpuos {

inline constexpr std::size_t kRows = 4;
inline constexpr std::size_t kColumns = 6;
inline constexpr std::size_t kElems = kRows * kColumns;
inline constexpr std::size_t kOwnerBytes = 256;
inline constexpr std::size_t kOldOwners = 6;
inline constexpr std::size_t kMostOwners = 40;
inline constexpr DType kDTypes[] = {DType::Float32, DType::Float32,
                                    DType::Float16, DType::Int32, DType::Bool};

/// The layout of a view in its owner, without its position.
enum class Layout {
  Flat,
  Matrix,
  Transposed,
  FirstHalf,
  SecondHalf,
  Evens,  // every other element
  Odds,
  Row,
  Tall,
  Column  // one element for each row
};

struct Slot {
  std::size_t owner = 0;
  Layout layout{};
  DType dtype{};

  friend bool operator==(const Slot&, const Slot&) = default;
};

struct Operation {
  Function function{};
  DType compute{};
  bool is_fresh = false;
  Slot out;
  std::vector<Slot> operands;  // before the numbers
  std::vector<double> numbers;
};

struct Choice {
  Function function;
  int arrays;
  int numbers;
};
inline constexpr Choice kReal[] = {
    {Function::Add, 2, 0},      {Function::Add, 1, 1},
    {Function::Subtract, 2, 0}, {Function::Multiply, 2, 0},
    {Function::Multiply, 1, 1}, {Function::AddScaled, 2, 1},
    {Function::Negative, 1, 0}, {Function::Absolute, 1, 0},
    {Function::Exp, 1, 0},      {Function::Copy, 1, 0},
    {Function::Copy, 0, 1},     {Function::Sigmoid, 1, 0},
    {Function::Lerp, 3, 0},     {Function::Hardswish, 1, 0},
    {Function::Sqrt, 1, 0},     {Function::Addcmul, 3, 1}};
inline constexpr Choice kWhole[] = {
    {Function::Add, 2, 0},      {Function::Subtract, 1, 1},
    {Function::Multiply, 2, 0}, {Function::BitwiseXor, 2, 0},
    {Function::Copy, 1, 0},     {Function::Negative, 1, 0}};
inline constexpr Choice kTests[] = {{Function::Less, 2, 0},
                                    {Function::GreaterEqual, 1, 1},
                                    {Function::NotEqual, 2, 0},
                                    {Function::Isnan, 1, 0},
                                    {Function::LogicalAnd, 2, 0}};

/// A stream that PyTorch could ask for.
class Tape {
 public:
  struct Kind {
    /// Memory has several owners, and so none is fresh.
    bool has_aliases = false;
    std::size_t lanes = 1;  // chains that take turns and seldom meet
    bool has_many_rows = false;
    bool has_sums = false;  // over rows; else extremes, which have no order
  };

  Tape(std::uint64_t seed, const Kind& kind) : random_(seed), kind_(kind) {
    for (std::size_t owner = 0; owner < kMostOwners; ++owner)
      dtypes_.push_back(kDTypes[random_.below(std::size(kDTypes))]);
    const std::size_t count = (3 + random_.below(25)) * kind.lanes;
    while (operations_.size() < count) add();
  }

  const std::vector<Operation>& operations() const { return operations_; }
  /// Draws the numbers of all operations again.
  void draw_numbers() {
    for (Operation& made : operations_)
      for (double& number : made.numbers) number = draw_number();
  }
  DType dtype_of(std::size_t owner) const { return dtypes_[owner]; }
  bool is_needed(std::size_t owner) const {
    return owner < kOldOwners || needed_.contains(owner);
  }
  std::size_t owners() const { return owners_; }
  Random& random() { return random_; }

 private:
  double draw_number() { return static_cast<double>(random_.below(5)) - 1; }
  template <typename List>
  auto pick(const List& list) {
    return list[random_.below(std::size(list))];
  }

  static bool is_half(Layout layout) {
    return layout >= Layout::FirstHalf && layout <= Layout::Odds;
  }

  // Returns layouts that elementwise requests over one shape may read and
  // write.
  std::vector<Layout> layouts_like(Layout out, bool is_out) const {
    if (is_half(out))
      return {Layout::FirstHalf, Layout::SecondHalf, Layout::Evens,
              Layout::Odds};
    if (out == Layout::Flat || out == Layout::Column) return {out};
    // Arrays decide how rows are walked through, and so in which order they
    // are added.
    const Layout other = kind_.has_sums ? Layout::Matrix : Layout::Transposed;
    if (is_out) return {Layout::Matrix, other};
    return {Layout::Matrix, Layout::Matrix, other, Layout::Row, Layout::Tall};
  }

  void add() {
    Operation made;
    if (kind_.lanes > 1)
      lane_ = random_.below(16) == 0 ? kind_.lanes : random_.below(kind_.lanes);
    const std::size_t kind = random_.below(kind_.has_many_rows ? 5 : 12);
    made.is_fresh =
        random_.below(2) == 0 && owners_ < kMostOwners && !kind_.has_aliases;
    const std::size_t owner =
        made.is_fresh ? owners_ : in_lane(random_.below(owners_));
    made.out = {owner, Layout::Flat, dtypes_[owner]};
    if (kind == 0 && is_floating(made.out.dtype)) {
      add_row(made);
    } else {
      made.out.layout = kind == 1               ? Layout::Column
                        : random_.below(4) == 0 ? Layout::FirstHalf
                        : random_.below(2) == 0 ? Layout::Matrix
                                                : Layout::Flat;
      made.out.layout = pick(layouts_like(made.out.layout, true));
      if (made.is_fresh && made.out.layout == Layout::Transposed)
        made.out.layout = Layout::Matrix;
      add_elementwise(made);
    }
    operations_.push_back(made);
    if (!made.is_fresh) return;
    if (is_half(made.out.layout)) add_other_half(made.out);
    if (random_.below(2) == 0) needed_.insert(owners_);
    ++owners_;
  }

  // New memory that is written in two parts.
  void add_other_half(const Slot& half) {
    Operation made;
    made.is_fresh = true;
    made.out = half;
    made.out.layout = half.layout == Layout::FirstHalf    ? Layout::SecondHalf
                      : half.layout == Layout::SecondHalf ? Layout::FirstHalf
                      : half.layout == Layout::Evens      ? Layout::Odds
                                                          : Layout::Evens;
    add_elementwise(made);
    operations_.push_back(made);
  }

  void add_row(Operation& made) {
    const bool is_first = random_.below(2) == 0;
    made.function = kind_.has_sums
                        ? (is_first ? Function::Sum : Function::Softmax)
                        : (is_first ? Function::Amax : Function::Amin);
    made.compute = DType::Float32;
    made.out.layout =
        is_reducing(made.function) ? Layout::Tall : Layout::Matrix;
    made.operands.push_back(other_than(made.out, Layout::Matrix));
  }

  void add_elementwise(Operation& made) {
    const DType dtype = made.out.dtype;
    const Choice choice = is_floating(dtype)      ? pick(kReal)
                          : dtype == DType::Int32 ? pick(kWhole)
                                                  : pick(kTests);
    made.function = choice.function;
    made.compute = dtype == DType::Int32 ? DType::Int32 : DType::Float32;
    for (int i = 0; i < choice.arrays; ++i) {
      if (!made.is_fresh && random_.below(3) == 0) {
        made.operands.push_back(made.out);
        continue;
      }
      // Results of before are likelier, so that there are chains.
      Slot slot =
          other_than(made.out, pick(layouts_like(made.out.layout, false)));
      made.operands.push_back(slot);
    }
    for (int i = 0; i < choice.numbers; ++i)
      made.numbers.push_back(draw_number());
  }

  // An operand may be the output, but not overlap it otherwise.
  Slot other_than(const Slot& out, Layout layout) {
    for (;;) {
      const std::size_t from = in_lane(random_.below(2) == 0 && owners_ > 4
                                           ? owners_ - 1 - random_.below(4)
                                           : random_.below(owners_));
      if (from != out.owner) return {from, layout, dtypes_[from]};
    }
  }

  // An owner near `owner` that belongs to the lane of the operation, if it has
  // one.
  std::size_t in_lane(std::size_t owner) const {
    if (kind_.lanes == 1 || lane_ == kind_.lanes) return owner;
    const std::size_t near = owner - owner % kind_.lanes + lane_;
    return near < owners_ ? near : near - kind_.lanes;
  }

  Random random_;
  Kind kind_;
  std::size_t lane_ = 0;  // kind_.lanes: none
  std::vector<DType> dtypes_;
  std::size_t owners_ = kOldOwners;
  std::set<std::size_t> needed_;
  std::vector<Operation> operations_;
};

}  // namespace gpuos
