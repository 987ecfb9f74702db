#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "contract.h"
#include "device/short_floats.h"

namespace gpuos {

#define GPUOS_DTYPE(name, ...) DType::name,
inline constexpr DType kAllDTypes[] = {GPUOS_DTYPES(GPUOS_DTYPE)};
#undef GPUOS_DTYPE

/// A small generator: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t bits() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 16;
  }
  std::size_t below(std::size_t count) { return bits() % count; }

 private:
  std::uint64_t state_;
};

template <typename T>
void put(std::vector<std::uint8_t>& bytes, std::size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

inline void put_real(std::vector<std::uint8_t>& bytes, std::size_t i,
                     DType dtype, double value) {
  const auto single = static_cast<float>(value);
  switch (dtype) {
    case DType::Float64:
      put(bytes, i, value);
      break;
#define GPUOS_CASE(with, name, text, bytes_of, Stored, ...) \
  case DType::name:                                         \
    put(bytes, i, Stored(single));                          \
    break;
      GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
    default:
      put(bytes, i, single);
  }
}

/// Mostly small numbers, now and then a special one.
inline double random_real(Random& random) {
  constexpr double kSpecial[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e30};
  if (random.below(16) == 0) return kSpecial[random.below(6)];
  return static_cast<double>(random.below(4000)) / 500 - 4;
}

inline std::vector<std::uint8_t> random_bytes(DType dtype, std::size_t count,
                                              Random& random) {
  const std::size_t size = size_of(dtype);
  std::vector<std::uint8_t> bytes(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    const double real = random_real(random);
    if (is_floating(dtype))
      put_real(bytes, i, dtype, real);
    else if (dtype == DType::Complex64)
      put(bytes, 2 * i, static_cast<float>(real)),
          put(bytes, 2 * i + 1, static_cast<float>(random_real(random)));
    else if (dtype == DType::Complex128)
      put(bytes, 2 * i, real), put(bytes, 2 * i + 1, random_real(random));
    else if (dtype == DType::Bool)
      bytes[i] = random.below(2) != 0;
    else
      for (std::size_t k = 0; k < size; ++k)
        bytes[i * size + k] =
            static_cast<std::uint8_t>(random.below(4) == 0 ? random.bits()
                                      : k == 0             ? random.below(9)
                                                           : 0);
  }
  return bytes;
}

inline double number_at(DType dtype, const std::uint8_t* at) {
  const auto as = [&]<typename T>(T value) {
    std::memcpy(&value, at, sizeof(T));
    return value;
  };
  if (dtype == DType::Float64) return as(double{});
#define GPUOS_CASE(with, name, text, bytes, Stored, ...) \
  if (dtype == DType::name) return as(Stored{});
  GPUOS_SHORT_FLOATS(GPUOS_CASE, )
#undef GPUOS_CASE
  return as(float{});
}

/// Returns "" if all elements have the same bits, or are NaN in both. Otherwise
/// returns the first that does not.
inline std::string difference(DType dtype, const std::vector<std::uint8_t>& a,
                              const std::vector<std::uint8_t>& b) {
  const bool has_nan = is_floating(dtype) || is_complex(dtype);
  const std::size_t size = is_complex(dtype) ? 4 : size_of(dtype);
  for (std::size_t i = 0; i + size <= a.size(); i += size) {
    if (std::memcmp(&a[i], &b[i], size) == 0) continue;
    const double x = has_nan ? number_at(dtype, &a[i]) : a[i];
    const double y = has_nan ? number_at(dtype, &b[i]) : b[i];
    if (std::isnan(x) && std::isnan(y)) continue;
    return "element " + std::to_string(i / size) + ": " + std::to_string(x) +
           " and " + std::to_string(y);
  }
  return "";
}

/// Sums each row of doubles. Each element has 48 live values at a time.
inline Program sum_of_many_values() {
  constexpr int kValues = 48;
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float64, 2);
  const Value two = builder.literal(2.0);
  std::vector<Value> values{x};
  for (int i = 1; i < kValues; ++i) values.push_back(values.back() * two);
  // The last one first, so that all are alive at once.
  Value all = values.back();
  for (int i = kValues - 2; i >= 0; --i)
    all = ProgramBuilder::apply(Op::Maximum,
                                {values[static_cast<std::size_t>(i)], all});
  builder.output(ProgramBuilder::reduce(
      Op::Sum, ProgramBuilder::apply(Op::Minimum, {all, x}), {{1}}));
  return builder.build();
}

inline Value binary(Op op, const Value& a, const Value& b) {
  return ProgramBuilder::apply(op, {a, b});
}
inline Value unary(Op op, const Value& a) {
  return ProgramBuilder::apply(op, {a});
}

inline TensorView matrix(float* data, std::int64_t rows, std::int64_t columns) {
  return shaped({data, 1}, {rows, columns});
}

inline std::vector<float> ramp(std::size_t size, int first = 0) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i)
    values[i] = static_cast<float>((static_cast<int>(i) + first) % 101) - 50;
  return values;
}

/// Returns the bytes of all outputs of a call.
inline std::vector<std::vector<std::uint8_t>> outputs_of(
    Runtime& runtime, const Program& program,
    const std::vector<TensorView>& inputs,
    const std::vector<Scalar>& scalars = {}) {
  std::vector<Shape> shapes;
  for (const TensorView& view : inputs)
    shapes.emplace_back(view.shape.begin(), view.shape.begin() + view.dims);
  const auto results = program.output_shapes(shapes);
  std::vector<DeviceArray<std::uint8_t>> memory;
  std::vector<TensorView> views;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const DType dtype = program.outputs()[i].dtype;
    std::size_t bytes = size_of(dtype);
    for (const std::int64_t size : results[i])
      bytes *= static_cast<std::size_t>(size);
    memory.emplace_back(runtime, bytes, std::uint8_t{0xa5});
    views.push_back(shaped({memory.back().data(), 1, dtype}, results[i]));
  }
  runtime.submit(program, inputs, views, scalars);
  std::vector<std::vector<std::uint8_t>> outputs;
  for (const auto& array : memory) outputs.push_back(array.read());
  return outputs;
}

}  // namespace gpuos
