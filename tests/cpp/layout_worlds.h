// Small arrays of every memory layout, results of programs with them, and the
// same results from very simple loops.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/concat.h"
#include "gpuos/program.h"
#include "walks.h"

namespace gpuos::worlds {

inline constexpr int kMostAxes = 5;
using Numbers = std::array<int, kMostAxes>;

/// The memory layout of an array. Units: elements.
struct Place {
  int rank = 0;
  Numbers sizes{};
  Numbers strides{};
  int first = 0;  // from the lowest element to the one at index 0
  int span = 0;   // from the lowest element to the end of the highest one

  int at(const Numbers& index) const {
    int place = first;
    for (int d = 0; d < rank; ++d) place += index[d] * strides[d];
    return place;
  }
};

enum class Axis { Plain, Gap, Negative, Zero };

/// The axes from the outermost one to the innermost one as `order` says.
inline Place place_of(int rank, const Numbers& sizes, const Numbers& order,
                      const std::array<Axis, kMostAxes>& kinds) {
  Place place{.rank = rank, .sizes = sizes};
  int step = 1;
  bool is_empty = false;
  for (int i = rank; i-- > 0;) {
    const int d = order[i];
    is_empty = is_empty || sizes[d] == 0;
    if (kinds[d] == Axis::Zero) continue;
    if (kinds[d] == Axis::Gap) step *= 2;
    place.strides[d] = kinds[d] == Axis::Negative ? -step : step;
    step *= std::max(sizes[d], 1);
  }
  if (is_empty) return place;
  place.span = 1;
  for (int d = 0; d < rank; ++d) {
    const int length = (sizes[d] - 1) * std::abs(place.strides[d]);
    place.span += length;
    if (place.strides[d] < 0) place.first += length;
  }
  return place;
}

/// Calls `f` for every index of an array of these sizes, in C order.
template <typename F>
void each_index(int rank, const Numbers& sizes, F f) {
  Numbers index{};
  for (int d = 0; d < rank; ++d)
    if (sizes[d] == 0) return;
  for (;;) {
    f(index);
    int d = rank - 1;
    while (d >= 0 && ++index[d] == sizes[d]) index[d--] = 0;
    if (d < 0) return;
  }
}

/// Operations on x and y, of int64.
enum class Kind {
  Add,     // x + y, where y has one axis
  Sum,     // of x, over some axes
  Center,  // x less its sum over some axes
  Argmax   // of x, over one axis or all
};

/// The properties that distinguish programs.
struct Form {
  Kind kind{};
  int rank = 0;          // of x
  unsigned fresh = 0;    // bit d: axis d of what is computed with is a new one
  unsigned reduced = 0;  // bit d: it is reduced
  bool keeps = false;

  /// Returns the rank of x with its new axes.
  int view_rank() const { return rank + std::popcount(fresh); }
  int out_rank() const {
    if (kind == Kind::Add) return std::max(view_rank(), 1);
    if (kind == Kind::Center || keeps) return view_rank();
    return view_rank() - std::popcount(reduced);
  }
  friend auto operator<=>(const Form&, const Form&) = default;
};

inline Program program_of(const Form& form) {
  ProgramBuilder builder;
  Value x = builder.input(DType::Int64, form.rank);
  std::vector<int> dims;
  int next = 0;
  for (int d = 0; d < form.view_rank(); ++d)
    dims.push_back((form.fresh >> d & 1) != 0 ? -1 : next++);
  if (form.fresh != 0) x = ProgramBuilder::view(x, dims);
  std::vector<int> axes;
  for (int d = 0; d < form.view_rank(); ++d)
    if ((form.reduced >> d & 1) != 0) axes.push_back(d);
  switch (form.kind) {
    case Kind::Add:
      x = ProgramBuilder::apply(Op::Add, {x, builder.input(DType::Int64, 1)});
      break;
    case Kind::Sum:
      x = ProgramBuilder::reduce(Op::Sum, x, axes, form.keeps);
      break;
    case Kind::Center:
      x = ProgramBuilder::apply(
          Op::Subtract, {x, ProgramBuilder::reduce(Op::Sum, x, axes, true)});
      break;
    case Kind::Argmax:
      if (axes.size() == 1)
        x = ProgramBuilder::reduce(Op::Argmax, x, axes, form.keeps);
      else
        x = ProgramBuilder::reduce(Op::Argmax, x, {}, form.keeps);
      break;
  }
  builder.output(x);
  return builder.build();
}

/// One call.
struct World {
  Form form;
  Place x, y, out;
};

inline std::string to_string(const Place& place) {
  std::string text = "(";
  for (int d = 0; d < place.rank; ++d)
    text += concat(d == 0 ? "" : " ", place.sizes[d], ":", place.strides[d]);
  return text + ")";
}
inline std::string to_string(const World& world) {
  constexpr const char* kNames[] = {"add", "sum", "center", "argmax"};
  return concat(kNames[static_cast<int>(world.form.kind)], " fresh ",
                world.form.fresh, " reduced ", world.form.reduced, " keeps ",
                static_cast<int>(world.form.keeps), " x ", to_string(world.x),
                " y ", to_string(world.y), " out ", to_string(world.out));
}

/// x with its new axes.
inline Place view_of(const World& world) {
  const int rank = world.form.view_rank();
  Place view{.rank = rank, .first = world.x.first, .span = world.x.span};
  int next = 0;
  for (int d = 0; d < rank; ++d) {
    const bool is_fresh = (world.form.fresh >> d & 1) != 0;
    view.sizes[d] = is_fresh ? 1 : world.x.sizes[next];
    view.strides[d] = is_fresh ? 0 : world.x.strides[next++];
  }
  return view;
}

/// Memory with guard zones that must not be touched.
class Guarded {
 public:
  static constexpr int kRoom = 16;  // elements
  void begin(int span) {
    values_.assign(static_cast<std::size_t>(span + 2 * kRoom), kUntouched);
  }
  std::int64_t* data() { return values_.data() + kRoom; }
  std::vector<std::int64_t>& all() { return values_; }
  std::int64_t& operator[](int place) { return data()[place]; }
  friend bool operator==(const Guarded&, const Guarded&) = default;

 private:
  std::vector<std::int64_t> values_;
};

/// The arrays of a world, and the expected memory of the output.
struct Arrays {
  Guarded x, y, out, wanted;
};

/// Different for each element, and so are most of their sums.
inline std::int64_t element(int place, int salt) {
  const auto bits = static_cast<std::uint32_t>(place * 8 + salt + 1);
  return bits * 2654435761u >> 8;
}

inline void want_sum_of_two(const World& world, Arrays& arrays) {
  const Place x = view_of(world);
  const Place& out = world.out;
  each_index(out.rank, out.sizes, [&](const Numbers& index) {
    Numbers own{};  // where it has one element, x repeats
    for (int d = 0; d < x.rank; ++d)
      own[d] = x.sizes[d] == 1 ? 0 : index[d + out.rank - x.rank];
    const Numbers last{world.y.sizes[0] == 1 ? 0 : index[out.rank - 1]};
    arrays.wanted[out.at(index)] =
        arrays.x[x.at(own)] + arrays.y[world.y.at(last)];
  });
}

inline void want_reduction(const World& world, Arrays& arrays) {
  const Place x = view_of(world);
  const Form& form = world.form;
  struct Row {
    std::int64_t sum = 0, count = 0, most = 0, place = 0;
  };
  // The key is the number of an index with 0 along the reduced axes.
  std::array<Row, 81> rows{};
  const auto row_of = [&](const Numbers& index) -> Row& {
    int number = 0;
    for (int d = 0; d < x.rank; ++d)
      if ((form.reduced >> d & 1) == 0) number = number * x.sizes[d] + index[d];
    return rows[static_cast<std::size_t>(number)];
  };
  each_index(x.rank, x.sizes, [&](const Numbers& index) {
    const std::int64_t value = arrays.x[x.at(index)];
    Row& row = row_of(index);
    row.sum += value;
    if (row.count == 0 || value > row.most) {
      row.most = value;
      row.place = row.count;
    }
    ++row.count;
  });
  const bool has_all = form.kind == Kind::Center || form.keeps;
  each_index(world.out.rank, world.out.sizes, [&](const Numbers& index) {
    Numbers own{};  // 0 along the removed axes
    int next = 0;
    for (int d = 0; d < x.rank; ++d)
      if (has_all || (form.reduced >> d & 1) == 0) own[d] = index[next++];
    const Row& row = row_of(own);
    arrays.wanted[world.out.at(index)] = form.kind == Kind::Sum ? row.sum
                                         : form.kind == Kind::Argmax
                                             ? row.place
                                             : arrays.x[x.at(own)] - row.sum;
  });
}

/// Fills x and y, and computes the expected output, index by index.
inline void fill(const World& world, Arrays& arrays) {
  arrays.x.begin(world.x.span);
  arrays.y.begin(world.y.span);
  arrays.out.begin(world.out.span);
  arrays.wanted.begin(world.out.span);
  for (int i = 0; i < world.x.span; ++i) arrays.x[i] = element(i, 1);
  for (int i = 0; i < world.y.span; ++i) arrays.y[i] = element(i, 2);
  if (world.form.kind == Kind::Add)
    want_sum_of_two(world, arrays);
  else
    want_reduction(world, arrays);
}

// ---- All worlds.

/// All orders of `rank` axes.
inline std::vector<Numbers> orders_of(int rank) {
  Numbers order{};
  for (int d = 0; d < rank; ++d) order[d] = d;
  std::vector<Numbers> orders;
  do orders.push_back(order);
  while (std::next_permutation(order.begin(), order.begin() + rank));
  return orders;
}

using Kinds = std::array<Axis, kMostAxes>;

/// Returns all kinds for up to three axes. For more axes it returns one kind
/// for all, or for one.
inline std::vector<Kinds> kinds_of(int rank, bool has_zero) {
  std::vector<Kinds> all;
  const int count = has_zero ? 4 : 3;
  int most = 1;
  for (int d = 0; d < rank; ++d) most *= count;
  for (int number = 0; number < most; ++number) {
    Kinds kinds{};
    int left = number;
    int special = 0, same = 0;
    for (int d = 0; d < rank; ++d, left /= count) {
      kinds[d] = static_cast<Axis>(left % count);
      special += kinds[d] != Axis::Plain ? 1 : 0;
      same += kinds[d] == kinds[0] ? 1 : 0;
    }
    if (rank < 3 || special <= 1 || same == rank) all.push_back(kinds);
  }
  return all;
}

/// Returns all operations on an x of this rank: new axes in front, between and
/// at the end, and every set of axes reduced, kept or not.
inline std::vector<Form> forms_of(int rank) {
  std::vector<Form> forms;
  for (unsigned fresh = 0; fresh < 1u << (rank + 1); ++fresh) {
    if (std::popcount(fresh) > 1) continue;
    forms.push_back({Kind::Add, rank, fresh});
    const int all = rank + std::popcount(fresh);
    for (unsigned reduced = 1; reduced < 1u << all; ++reduced) {
      const bool is_place =
          std::has_single_bit(reduced) || reduced == (1u << all) - 1;
      for (const bool keeps : {false, true}) {
        forms.push_back({Kind::Sum, rank, fresh, reduced, keeps});
        if (is_place)
          forms.push_back({Kind::Argmax, rank, fresh, reduced, keeps});
      }
      forms.push_back({Kind::Center, rank, fresh, reduced, true});
    }
  }
  return forms;
}

/// The sizes of the result.
inline Numbers out_sizes(const World& world) {
  const Place x = view_of(world);
  const Form& form = world.form;
  Numbers sizes{};
  if (form.kind == Kind::Add) {
    std::copy_n(x.sizes.begin(), x.rank, sizes.begin());
    if (x.rank == 0 || sizes[x.rank - 1] == 1)
      sizes[form.out_rank() - 1] = world.y.sizes[0];
    return sizes;
  }
  int next = 0;
  for (int d = 0; d < x.rank; ++d) {
    const bool is_reduced = (form.reduced >> d & 1) != 0;
    if (form.kind == Kind::Center || !is_reduced)
      sizes[next++] = x.sizes[d];
    else if (form.keeps)
      sizes[next++] = 1;
  }
  return sizes;
}

/// Returns whether numbers of nothing are refused: they have no first largest
/// one.
inline bool is_refused(const World& world) {
  if (world.form.kind != Kind::Argmax) return false;
  const Place x = view_of(world);
  for (int d = 0; d < x.rank; ++d)
    if (x.sizes[d] == 0) return true;
  return false;
}

/// Calls `f` for each world whose x has `rank` axes of 0 to 3 elements: every
/// order and kind of x's axes, and every form. The output's layouts alternate.
/// With `every` > 1, the forms alternate too.
template <typename F>
void each_world(int rank, unsigned every, F f) {
  const std::vector<Form> forms = forms_of(rank);
  const std::vector<Kinds> own_kinds = kinds_of(rank, true);
  std::map<int, std::vector<Numbers>> orders;
  std::map<int, std::vector<Kinds>> kinds;
  for (int r = 0; r <= kMostAxes; ++r) {
    orders[r] = orders_of(r);
    kinds[r] = kinds_of(r, false);
  }
  unsigned turn = 0;
  World world;
  int shapes = 1;
  for (int d = 0; d < rank; ++d) shapes *= 4;
  for (int shape = 0; shape < shapes; ++shape) {
    Numbers sizes{};
    for (int d = 0, left = shape; d < rank; ++d, left /= 4) sizes[d] = left % 4;
    for (const Numbers& order : orders[rank]) {
      for (const Kinds& kind : own_kinds) {
        world.x = place_of(rank, sizes, order, kind);
        for (std::size_t i = turn % every; i < forms.size(); i += every) {
          world.form = forms[i];
          ++turn;
          const int last =
              world.form.view_rank() == 0
                  ? 1
                  : view_of(world).sizes[world.form.view_rank() - 1];
          const int y_size = last == 1       ? static_cast<int>(turn % 4)
                             : turn % 5 == 0 ? 1
                                             : last;
          world.y =
              place_of(1, {y_size}, {0}, {static_cast<Axis>(turn / 4 % 4)});
          const int out = world.form.out_rank();
          world.out = place_of(out, out_sizes(world),
                               orders[out][turn % orders[out].size()],
                               kinds[out][turn / 7 % kinds[out].size()]);
          if (!is_refused(world)) f(world);
        }
        ++turn;
      }
    }
  }
}

}  // namespace gpuos::worlds
