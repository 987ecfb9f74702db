// Random streams of requests: grouping does not change the results.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "gpuos/known_values.h"
#include "request_tape.h"

namespace gpuos {
namespace {

class RandomRequests : public Contract {
 protected:
  static constexpr std::size_t kBytes = kMostOwners * kOwnerBytes;

  /// The memory of the owners for one way of running.
  struct Memory {
    Buffer buffer;
    std::uint8_t* base() const {
      return static_cast<std::uint8_t*>(buffer.get());
    }
  };

  void check(std::uint64_t seed, Tape::Kind kind) {
    // The division of a row among the lanes of a device depends on the whole
    // task.
    kind.has_sums = is_host() && seed % 2 == 0;
    Tape stream(seed, kind);
    std::vector<std::uint8_t> bytes(kBytes);
    for (std::size_t owner = 0; owner < kMostOwners; ++owner) {
      const auto values =
          random_bytes(stream.dtype_of(owner), kElems, stream.random());
      std::copy(values.begin(), values.end(),
                bytes.begin() + static_cast<std::ptrdiff_t>(owner) *
                                    static_cast<std::ptrdiff_t>(kOwnerBytes));
    }
    const auto grouped = run_grouped(stream, bytes, kind.has_aliases);
    ASSERT_NO_FATAL_FAILURE(compare(seed, stream, bytes, grouped));
    if (kind.has_aliases || seed % 4 != 0) return;
    // A known run has other memory and other numbers.
    auto before = std::make_unique<RequestRunner>(runtime());
    std::swap(grouped_, before);
    run_grouped(stream, bytes, false);
    stream.draw_numbers();
    const auto again = run_grouped(stream, bytes, false);
    std::swap(grouped_, before);
    ASSERT_NO_FATAL_FAILURE(compare(seed, stream, bytes, again));
  }

 private:
  void compare(std::uint64_t seed, const Tape& stream,
               const std::vector<std::uint8_t>& bytes,
               const std::vector<std::uint8_t>& grouped) {
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
      text += "\nfunction " + std::to_string(static_cast<int>(made.function)) +
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
      view = shaped(view, {kRows, kColumns}, {row, column});
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
      case Layout::Evens:
      case Layout::Odds:
        view = shaped(view, {kElems / 2}, {2});
        if (slot.layout == Layout::Odds) view.data = data + size_of(slot.dtype);
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
      case Layout::Column:
        view.shape[0] = kRows;
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
    if (is_row_function(made.function)) {
      options.axes = 2;
      options.keepdims = true;
      if (is_reducing(made.function)) out.view.shape[1] = 1;
    }
    list.add(made.function, out, operands, options);
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
    // The host may read old memory here, or it is told some of it.
    KnownValues known(is_host() && stream.random().below(2) == 0);
    for (std::size_t owner = 0; owner < kOldOwners; ++owner) {
      std::uint8_t* const at = memory.base() + owner * kOwnerBytes;
      if (stream.random().below(4) != 0)
        known.set(at, at,
                  std::as_bytes(std::span(bytes).subspan(owner * kOwnerBytes,
                                                         kOwnerBytes)));
    }
    if (!has_aliases) known.take(list.requests(), list.views());
    list.run(*grouped_, has_aliases ? StillNeeded{} : needed, !has_aliases);
    auto found = read(memory);
    if (!has_aliases) check_known(stream, known, memory, found);
    return found;
  }

  // Each value that the host knows is the one that the run has computed.
  void check_known(const Tape& stream, const KnownValues& known,
                   const Memory& memory,
                   const std::vector<std::uint8_t>& found) {
    for (std::size_t owner = 0; owner < stream.owners(); ++owner) {
      if (!stream.is_needed(owner)) continue;
      const DType dtype = stream.dtype_of(owner);
      const std::size_t size = size_of(dtype);
      for (std::size_t i = 0; i < kElems; ++i) {
        const std::size_t at = owner * kOwnerBytes + i * size;
        const auto value = known.find(memory.base() + owner * kOwnerBytes,
                                      memory.base() + at, size);
        if (value.empty()) continue;
        ++known_;
        const auto* told = reinterpret_cast<const std::uint8_t*>(value.data());
        ASSERT_EQ(difference(dtype, {told, told + size},
                             {&found[at], &found[at] + size}),
                  "")
            << "owner " << owner << ", element " << i << describe(stream);
      }
    }
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

  std::uint64_t known_ = 0;  // values that the host computed
  std::unique_ptr<RequestRunner> grouped_;
  std::unique_ptr<RequestRunner> single_;
};
GPUOS_INSTANTIATE_CONTRACT(RandomRequests);

TEST_P(RandomRequests, GiveTheResultsOfOneByOne) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    ASSERT_NO_FATAL_FAILURE(check(seed, {}));
  }
  const RequestStats stats = grouped_->stats();
  EXPECT_LT(stats.tasks, stats.requests * 4 / 5);
  EXPECT_GT(known_, 10'000);
}

TEST_P(RandomRequests, GiveTheSameInChainsSideBySide) {
  for (std::uint64_t seed = 0; seed < 700; ++seed) {
    ASSERT_NO_FATAL_FAILURE(check(seed, {.lanes = 3}));
  }
}

TEST_P(RandomRequests, GiveTheSameAroundRows) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    ASSERT_NO_FATAL_FAILURE(check(seed, {.has_many_rows = true}));
  }
}

TEST_P(RandomRequests, GiveTheSameWhereOwnersOverlap) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    ASSERT_NO_FATAL_FAILURE(check(seed, {.has_aliases = true}));
  }
}

}  // namespace
}  // namespace gpuos
