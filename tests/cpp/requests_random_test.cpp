// Random streams of requests: whatever is grouped, the results are those of the
// same requests one by one.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include "program_support.h"
#include "request_support.h"

namespace gpuos {
namespace {

constexpr std::size_t kRows = 4;
constexpr std::size_t kColumns = 6;
constexpr std::size_t kElems = kRows * kColumns;
constexpr std::size_t kOwnerBytes = 256;
constexpr std::size_t kOldOwners = 6;
constexpr std::size_t kMostOwners = 40;
constexpr DType kDTypes[] = {DType::Float32, DType::Float32, DType::Float16,
                             DType::Int32, DType::Bool};

/// A view of an owner: how it lies there, not where.
enum class Layout {
  Flat,
  Matrix,
  Transposed,
  FirstHalf,
  SecondHalf,
  Row,
  Tall
};

struct Slot {
  std::size_t owner = 0;
  Layout layout{};
  DType dtype{};

  friend bool operator==(const Slot&, const Slot&) = default;
};

struct Operation {
  Recipe recipe{};
  DType compute{};
  bool is_fresh = false;
  Slot out;
  std::vector<Slot> operands;  // before the numbers
  std::vector<double> numbers;
};

struct Choice {
  Recipe recipe;
  int arrays;
  int numbers;
};
constexpr Choice kReal[] = {{Recipe::Add, 2, 0},  {Recipe::Add, 1, 1},
                            {Recipe::Sub, 2, 0},  {Recipe::Mul, 2, 0},
                            {Recipe::Mul, 1, 1},  {Recipe::AddScaled, 2, 1},
                            {Recipe::Neg, 1, 0},  {Recipe::Abs, 1, 0},
                            {Recipe::Exp, 1, 0},  {Recipe::Copy, 1, 0},
                            {Recipe::Copy, 0, 1}, {Recipe::Sigmoid, 1, 0},
                            {Recipe::Lerp, 3, 0}, {Recipe::Hardswish, 1, 0},
                            {Recipe::Sqrt, 1, 0}, {Recipe::Addcmul, 3, 1}};
constexpr Choice kWhole[] = {{Recipe::Add, 2, 0},  {Recipe::Sub, 1, 1},
                             {Recipe::Mul, 2, 0},  {Recipe::BitwiseXor, 2, 0},
                             {Recipe::Copy, 1, 0}, {Recipe::Neg, 1, 0}};
constexpr Choice kTests[] = {{Recipe::Lt, 2, 0},
                             {Recipe::Ge, 1, 1},
                             {Recipe::Ne, 2, 0},
                             {Recipe::Isnan, 1, 0},
                             {Recipe::LogicalAnd, 2, 0}};

/// A stream that PyTorch could ask for.
class Tape {
 public:
  /// `has_aliases`: memory has several owners, and so none is fresh. `lanes`:
  /// chains that take turns and seldom meet.
  Tape(std::uint64_t seed, bool has_aliases, std::size_t lanes)
      : random_(seed), has_aliases_(has_aliases), lanes_(lanes) {
    for (std::size_t owner = 0; owner < kMostOwners; ++owner)
      dtypes_.push_back(kDTypes[random_.below(std::size(kDTypes))]);
    const std::size_t count = (3 + random_.below(25)) * lanes;
    while (operations_.size() < count) add();
  }

  const std::vector<Operation>& operations() const { return operations_; }
  DType dtype_of(std::size_t owner) const { return dtypes_[owner]; }
  bool is_needed(std::size_t owner) const {
    return owner < kOldOwners || needed_.contains(owner);
  }
  std::size_t owners() const { return owners_; }
  Random& random() { return random_; }

 private:
  template <typename List>
  auto pick(const List& list) {
    return list[random_.below(std::size(list))];
  }

  // What elementwise requests over one shape may read and write.
  static std::vector<Layout> layouts_like(Layout out, bool is_out) {
    if (out == Layout::FirstHalf || out == Layout::SecondHalf)
      return {Layout::FirstHalf, Layout::SecondHalf};
    if (out == Layout::Flat) return {Layout::Flat};
    if (is_out) return {Layout::Matrix, Layout::Transposed};
    return {Layout::Matrix, Layout::Matrix, Layout::Transposed, Layout::Row,
            Layout::Tall};
  }

  void add() {
    Operation made;
    if (lanes_ > 1)
      lane_ = random_.below(16) == 0 ? lanes_ : random_.below(lanes_);
    const std::size_t kind = random_.below(12);
    made.is_fresh =
        random_.below(2) == 0 && owners_ < kMostOwners && !has_aliases_;
    const std::size_t owner =
        made.is_fresh ? owners_ : in_lane(random_.below(owners_));
    made.out = {owner, Layout::Flat, dtypes_[owner]};
    if (kind == 0 && is_floating(made.out.dtype)) {
      add_row(made);
    } else {
      made.out.layout = random_.below(4) == 0   ? Layout::FirstHalf
                        : random_.below(2) == 0 ? Layout::Matrix
                                                : Layout::Flat;
      if (made.is_fresh && made.out.layout == Layout::FirstHalf)
        made.out.layout = Layout::Flat;
      made.out.layout = pick(layouts_like(made.out.layout, true));
      if (made.is_fresh && made.out.layout == Layout::Transposed)
        made.out.layout = Layout::Matrix;
      add_elementwise(made);
    }
    if (made.is_fresh) {
      if (random_.below(2) == 0) needed_.insert(owners_);
      ++owners_;
    }
    operations_.push_back(made);
  }

  void add_row(Operation& made) {
    made.recipe = random_.below(2) == 0 ? Recipe::Sum : Recipe::Softmax;
    made.compute = DType::Float32;
    made.out.layout =
        made.recipe == Recipe::Sum ? Layout::Tall : Layout::Matrix;
    made.operands.push_back(other_than(made.out, Layout::Matrix));
  }

  void add_elementwise(Operation& made) {
    const DType dtype = made.out.dtype;
    const Choice choice = is_floating(dtype)      ? pick(kReal)
                          : dtype == DType::Int32 ? pick(kWhole)
                                                  : pick(kTests);
    made.recipe = choice.recipe;
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
      made.numbers.push_back(static_cast<double>(random_.below(5)) - 1);
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
    if (lanes_ == 1 || lane_ == lanes_) return owner;
    const std::size_t near = owner - owner % lanes_ + lane_;
    return near < owners_ ? near : near - lanes_;
  }

  Random random_;
  bool has_aliases_;
  std::size_t lanes_;
  std::size_t lane_ = 0;  // lanes_: none
  std::vector<DType> dtypes_;
  std::size_t owners_ = kOldOwners;
  std::set<std::size_t> needed_;
  std::vector<Operation> operations_;
};

class RandomRequests : public Contract {
 protected:
  static constexpr std::size_t kBytes = kMostOwners * kOwnerBytes;

  /// Where the owners of one way of running lie.
  struct Memory {
    Buffer buffer;
    std::uint8_t* base() const {
      return static_cast<std::uint8_t*>(buffer.get());
    }
  };

  void check(std::uint64_t seed, bool has_aliases, std::size_t lanes = 1) {
    Tape stream(seed, has_aliases, lanes);
    std::vector<std::uint8_t> bytes(kBytes);
    for (std::size_t owner = 0; owner < kMostOwners; ++owner) {
      const auto values =
          random_bytes(stream.dtype_of(owner), kElems, stream.random());
      std::copy(values.begin(), values.end(),
                bytes.begin() + static_cast<std::ptrdiff_t>(owner) *
                                    static_cast<std::ptrdiff_t>(kOwnerBytes));
    }
    const auto grouped = run_grouped(stream, bytes, has_aliases);
    const auto single = run_single(stream, bytes);
    for (std::size_t owner = 0; owner < stream.owners(); ++owner) {
      if (!stream.is_needed(owner)) continue;
      const DType dtype = stream.dtype_of(owner);
      const std::string found = difference(dtype, part(grouped, owner, dtype),
                                           part(single, owner, dtype));
      ASSERT_EQ(found, "") << "seed " << seed << ", owner " << owner << " of "
                           << name_of(dtype) << describe(stream);
    }
  }

 private:
  static std::vector<std::uint8_t> part(const std::vector<std::uint8_t>& bytes,
                                        std::size_t owner, DType dtype) {
    const auto begin =
        bytes.begin() + static_cast<std::ptrdiff_t>(owner * kOwnerBytes);
    return {begin,
            begin + static_cast<std::ptrdiff_t>(kElems * size_of(dtype))};
  }

  static std::string describe(const Tape& stream) {
    std::string text;
    const auto add = [&](const Slot& slot) {
      text += " " + std::to_string(slot.owner) + "/" +
              std::to_string(static_cast<int>(slot.layout));
    };
    for (const Operation& made : stream.operations()) {
      text += "\nrecipe " + std::to_string(static_cast<int>(made.recipe)) +
              (made.is_fresh ? " fresh" : " into");
      add(made.out);
      text += " of";
      for (const Slot& slot : made.operands) add(slot);
    }
    return text;
  }

  static RequestOperand operand_of(const Slot& slot, std::uint8_t* base,
                                   std::size_t alias) {
    std::uint8_t* const data = base + slot.owner * kOwnerBytes;
    TensorView view(data, kElems, slot.dtype);
    const auto matrix = [&](std::int64_t row, std::int64_t column) {
      view.dims = 2;
      view.shape[0] = kRows;
      view.shape[1] = kColumns;
      view.has_strides = true;
      view.strides[0] = row;
      view.strides[1] = column;
    };
    switch (slot.layout) {
      case Layout::Flat:
        break;
      case Layout::FirstHalf:
        view.shape[0] = kElems / 2;
        break;
      case Layout::SecondHalf:
        view.shape[0] = kElems / 2;
        view.data = data + kElems / 2 * size_of(slot.dtype);
        break;
      case Layout::Matrix:
        matrix(kColumns, 1);
        break;
      case Layout::Transposed:
        matrix(1, kRows);
        break;
      case Layout::Row:
        matrix(0, 1);
        break;
      case Layout::Tall:
        matrix(1, 0);
        break;
    }
    return {view, data + alias};
  }

  // Requests as a bridge would write them. Broadcast operands have strides 0,
  // sums keep their axis with size 1.
  static void append(const Operation& made, std::uint8_t* base,
                     const auto& alias, RequestList& list) {
    std::vector<RequestOperand> operands;
    for (const Slot& slot : made.operands)
      operands.push_back(operand_of(slot, base, alias()));
    for (const double number : made.numbers) operands.emplace_back(number);
    RequestOperand out = operand_of(made.out, base, alias());
    RequestList::Options options{.is_fresh = made.is_fresh,
                                 .compute = made.compute};
    if (is_row_recipe(made.recipe)) {
      options.axes = 2;
      options.keepdims = true;
      if (made.recipe == Recipe::Sum) out.view.shape[1] = 1;
    }
    list.add(made.recipe, out, operands, options);
  }

  Memory filled(const std::vector<std::uint8_t>& bytes) {
    Memory memory{runtime().allocate(bytes.size())};
    runtime().copy_to_device(memory.buffer.get(), bytes.data(), bytes.size());
    return memory;
  }
  std::vector<std::uint8_t> read(const Memory& memory) {
    std::vector<std::uint8_t> bytes(kBytes);
    runtime().copy_to_host(bytes.data(), memory.buffer.get(), bytes.size());
    return bytes;
  }

  std::vector<std::uint8_t> run_grouped(Tape& stream,
                                        const std::vector<std::uint8_t>& bytes,
                                        bool has_aliases) {
    const Memory memory = filled(bytes);
    RequestList list;
    const auto alias = [&] {
      return has_aliases ? stream.random().below(2) : std::size_t{0};
    };
    for (const Operation& made : stream.operations())
      append(made, memory.base(), alias, list);
    struct Asked {
      const Tape& stream;
      std::uint8_t* base;
    } asked{stream, memory.base()};
    const StillNeeded needed{
        [](void* context, const void* owner, std::uint32_t) {
          const auto& [of, base] = *static_cast<Asked*>(context);
          return of.is_needed(
              static_cast<std::size_t>(static_cast<const std::uint8_t*>(owner) -
                                       base) /
              kOwnerBytes);
        },
        &asked};
    if (grouped_ == nullptr)
      grouped_ = std::make_unique<RequestRunner>(runtime());
    list.run(*grouped_, has_aliases ? StillNeeded{} : needed);
    return read(memory);
  }

  std::vector<std::uint8_t> run_single(const Tape& stream,
                                       const std::vector<std::uint8_t>& bytes) {
    const Memory memory = filled(bytes);
    if (single_ == nullptr)
      single_ = std::make_unique<RequestRunner>(runtime());
    for (const Operation& made : stream.operations()) {
      RequestList list;
      append(made, memory.base(), [] { return std::size_t{0}; }, list);
      list.run(*single_);
    }
    return read(memory);
  }

 protected:
  void TearDown() override {
    grouped_.reset();
    single_.reset();
  }

  std::unique_ptr<RequestRunner> grouped_;
  std::unique_ptr<RequestRunner> single_;
};
GPUOS_INSTANTIATE_CONTRACT(RandomRequests);

TEST_P(RandomRequests, GiveTheResultsOfOneByOne) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    ASSERT_NO_FATAL_FAILURE(check(seed, false));
  }
  const RequestStats stats = grouped_->stats();
  EXPECT_LT(stats.tasks, stats.requests * 4 / 5);
}

TEST_P(RandomRequests, GiveTheSameInChainsSideBySide) {
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    ASSERT_NO_FATAL_FAILURE(check(seed, false, 3));
  }
}

TEST_P(RandomRequests, GiveTheSameWhereOwnersOverlap) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    ASSERT_NO_FATAL_FAILURE(check(seed, true));
  }
}

}  // namespace
}  // namespace gpuos
