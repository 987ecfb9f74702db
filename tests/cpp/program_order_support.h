// The order in which a reduction puts its columns together, and the same as
// plain loops (docs/numbers.md).
#pragma once

#include <algorithm>
#include <span>

#include "contract.h"
#include "device/complex.h"
#include "device/interpreter/device_order.h"
#include "program_support.h"

namespace gpuos {

using Bytes = std::vector<std::uint8_t>;

/// The orders as docs/numbers.md has them: the host's,
template <typename T, typename F>
T host_order(std::span<const T> x, T first, F both) {
  if (x.size() > 256) {
    std::size_t half = 256;
    while (2 * half < x.size()) half *= 2;
    return both(host_order(x.first(half), first, both),
                host_order(x.subspan(half), first, both));
  }
  std::vector<T> sums(x.size() > 16 ? 16 : 1, first);
  for (std::size_t c = 0; c < x.size(); ++c)
    sums[c % sums.size()] = both(sums[c % sums.size()], x[c]);
  for (std::size_t half = sums.size() / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k)
      sums[k] = both(sums[k], sums[k + half]);
  return sums[0];
}

/// and a GPU's.
template <typename T, typename F>
T joined(std::vector<T> lanes, F both) {
  while (lanes.size() > 1) {
    const std::size_t near = std::min<std::size_t>(lanes.size(), 32);
    std::vector<T> groups;
    for (std::size_t g = 0; g < lanes.size(); g += near) {
      for (std::size_t half = near / 2; half > 0; half /= 2)
        for (std::size_t k = g; k < g + half; ++k)
          lanes[k] = both(lanes[k], lanes[k + half]);
      groups.push_back(lanes[g]);
    }
    lanes = groups;
  }
  return lanes[0];
}
template <typename T, typename F>
T device_order(std::span<const T> x, T first, F both) {
  std::size_t lanes = 1;
  while (4 * lanes < std::min<std::size_t>(x.size(), 128)) lanes *= 2;
  while (16 * lanes < x.size() && lanes >= 32 && lanes < 256) lanes *= 2;
  const std::size_t slices =
      std::clamp<std::size_t>((x.size() + 16383) / 16384, 1, 128);
  std::vector<std::vector<T>> sums(slices, std::vector<T>(lanes, first));
  for (std::size_t c = 0; c < x.size(); ++c) {
    T& sum = sums[c / 4 / lanes % slices][c / 4 % lanes];
    sum = both(sum, x[c]);
  }
  if (slices == 1) return joined(sums[0], both);
  std::vector<T> all(lanes, first);
  for (std::size_t s = 0; s < slices; ++s)
    all[s % lanes] = both(all[s % lanes], joined(sums[s], both));
  return joined(all, both);
}

inline bool is_of_device = false;  // which of them

template <typename T, typename F>
T in_order(std::span<const T> x, T first, F both) {
  return is_of_device ? device_order(x, first, both)
                      : host_order(x, first, both);
}

template <typename T>
T reduced(Op op, std::span<const T> x) {
  if (op == Op::Sum) return in_order(x, T(0), [](T a, T b) { return a + b; });
  if (op == Op::Prod) return in_order(x, T(1), [](T a, T b) { return a * b; });
  // The first one wins among equal values, such as 0 and -0.
  if (op == Op::Max)
    return in_order(x, T(-INFINITY), [](T a, T b) { return a >= b ? a : b; });
  return in_order(x, T(INFINITY), [](T a, T b) { return a <= b ? a : b; });
}

template <typename Part>
Complex<Part> reduced_complex(Op op, std::span<const Complex<Part>> x) {
  using C = Complex<Part>;
  if (op == Op::Sum)
    return in_order(x, C{0, 0},
                    [](C a, C b) { return C{a.re + b.re, a.im + b.im}; });
  return in_order(x, C{1, 0}, [](C a, C b) {
    const volatile Part products[] = {a.re * b.re, a.im * b.im, a.re * b.im,
                                      a.im * b.re};
    return C{products[0] - products[1], products[2] + products[3]};
  });
}

/// The dtypes of the order tests. All short floats behave alike.
constexpr DType kReals[] = {DType::Float16,   DType::BFloat16,
                            DType::Float32,   DType::Float64,
                            DType::Complex64, DType::Complex128};

/// Sizes whose last bits an order shows. A product stays near 1.
inline Bytes numbers(DType dtype, std::size_t count, bool near_one) {
  Random random(count + near_one);
  Bytes bytes(count * size_of(dtype));
  const auto next = [&] {
    const double x = static_cast<double>(random.below(20'000)) / 10'000 - 1;
    return near_one ? 1 + x / 512 : random.below(8) == 0 ? 100 * x : x;
  };
  for (std::size_t i = 0; i < count; ++i) {
    const double x = next();
    if (dtype == DType::Complex64)
      put(bytes, i,
          C64{static_cast<float>(x), static_cast<float>(next() / 16)});
    else if (dtype == DType::Complex128)
      put(bytes, i, C128{x, next() / 16});
    else
      put_real(bytes, i, dtype, x);
  }
  return bytes;
}

template <typename T>
std::vector<T> as(const Bytes& bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Each row of `x`, reduced as the canonical order has it.
inline Bytes wanted(Op op, DType dtype, const Bytes& x, std::size_t rows,
                    std::size_t columns) {
  Bytes result(rows * size_of(dtype));
  std::vector<float> singles(x.size() / size_of(dtype));
  for (std::size_t i = 0; i < singles.size() && !is_complex(dtype); ++i)
    singles[i] = static_cast<float>(number_at(dtype, &x[i * size_of(dtype)]));
  const auto doubles = as<double>(dtype == DType::Float64 ? x : Bytes());
  const auto complexes = as<C64>(dtype == DType::Complex64 ? x : Bytes());
  const auto wide = as<C128>(dtype == DType::Complex128 ? x : Bytes());
  for (std::size_t r = 0; r < rows; ++r) {
    const auto row = [&](auto& all) {
      return std::span(all).subspan(r * columns, columns);
    };
    if (dtype == DType::Float64) {
      put(result, r, reduced<double>(op, row(doubles)));
    } else if (dtype == DType::Complex64) {
      put(result, r, reduced_complex<float>(op, row(complexes)));
    } else if (dtype == DType::Complex128) {
      put(result, r, reduced_complex<double>(op, row(wide)));
    } else {
      put_real(result, r, dtype, reduced<float>(op, row(singles)));
    }
  }
  return result;
}

/// `op` along the rows of one input.
inline Program row_reduction(Op op, DType dtype) {
  ProgramBuilder builder;
  builder.output(ProgramBuilder::reduce(op, builder.input(dtype, 2), {{1}}));
  return builder.build();
}

/// The layout of the elements of rows and columns. Units: elements.
struct Lie {
  std::int64_t row, column, first, elements;
};

inline std::vector<Lie> lies(std::int64_t rows, std::int64_t columns) {
  const std::int64_t all = rows * columns;
  return {{columns, 1, 0, all},
          {1, rows, 0, all},
          {2 * columns + 3, 2, 1, rows * (2 * columns + 3) + 2},
          {3, 3 * rows + 1, 1, columns * (3 * rows + 1) + 2},
          {-columns, -1, all - 1, all}};
}

class OrderContract : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    is_of_device = !is_host();
  }

  struct Array {
    Array(Runtime& runtime, DType dtype, const Bytes& x, std::int64_t rows,
          std::int64_t columns, const Lie& lie)
        : memory(runtime, laid(dtype, x, rows, columns, lie)),
          view(shaped({memory.data() + lie.first * static_cast<std::int64_t>(
                                                       size_of(dtype)),
                       1, dtype},
                      {rows, columns}, {lie.row, lie.column})) {}
    static Bytes laid(DType dtype, const Bytes& x, std::int64_t rows,
                      std::int64_t columns, const Lie& lie) {
      const auto size = static_cast<std::int64_t>(size_of(dtype));
      Bytes bytes(static_cast<std::size_t>((lie.elements + 1) * size));
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          std::memcpy(&bytes[static_cast<std::size_t>(
                          (lie.first + r * lie.row + c * lie.column) * size)],
                      &x[static_cast<std::size_t>((r * columns + c) * size)],
                      size_of(dtype));
      return bytes;
    }
    DeviceArray<std::uint8_t> memory;
    TensorView view;
  };

  /// 0: as many workers as there are usually.
  std::unique_ptr<Runtime> runtime_with(std::uint32_t workers) {
    RuntimeOptions wanted = options();
    wanted.workers = workers;
    wanted.compile_programs_after = 0;
    wanted.deterministic = true;
    return std::make_unique<Runtime>(wanted);
  }
};

inline constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {
    {1, 1},      {3, 16},     {4, 17},     {40, 31},    {2, 255},    {33, 256},
    {7, 257},    {3, 1000},   {600, 40},   {300, 530},  {2, 5000},   {9, 2048},
    {130, 1030}, {1, 16'384}, {5, 16'400}, {1, 40'000}, {1, 100'001}};

}  // namespace gpuos
