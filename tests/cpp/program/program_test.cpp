// Tests of programs on both backends: their results and their memory accesses.
#include <cmath>
#include <numeric>

#include "program_support.h"

namespace gpuos {
namespace {

class ProgramContract : public Contract {
 protected:
  void run(const Program& program, const std::vector<TensorView>& inputs,
           const std::vector<TensorView>& outputs,
           const std::vector<Scalar>& scalars = {}) {
    const Ticket ticket = runtime().submit(program, inputs, outputs, scalars);
    ASSERT_TRUE(runtime().wait(ticket, kDeadline));
  }
  template <typename T>
  DeviceArray<T> array(const std::vector<T>& values) {
    return {runtime(), values};
  }
  static std::vector<float> ramp(std::size_t size, float step = 0.25f) {
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i)
      values[i] = step * static_cast<float>(i % 97) - 3;
    return values;
  }
};
GPUOS_INSTANTIATE_CONTRACT(ProgramContract);

TensorView strided(TensorView view, std::int64_t first, std::int64_t second) {
  view.has_strides = true;
  view.strides[0] = first;
  view.strides[1] = second;
  return view;
}

TEST_P(ProgramContract, AddsAndMultipliesAnySize) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  builder.output(
      binary(Op::Multiply, binary(Op::Add, x, y), builder.literal(2.0)));
  const Program program = builder.build();
  for (const std::size_t size : {1u, 3u, 31u, 256u, 1000u, 4096u, 100'003u}) {
    const auto a = ramp(size);
    const auto b = ramp(size, 0.5f);
    const auto x_array = array(a);
    const auto y_array = array(b);
    const DeviceArray<float> out(runtime(), size);
    run(program, {x_array.view(), y_array.view()}, {out.view()});
    const auto result = out.read();
    for (std::size_t i = 0; i < size; ++i)
      ASSERT_EQ(result[i], (a[i] + b[i]) * 2) << size << " " << i;
  }
}

TEST_P(ProgramContract, BroadcastsAndTransposes) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value y = builder.input(DType::Float32, 1);
  builder.output(binary(Op::Subtract, x, y));
  const Program program = builder.build();
  const std::int64_t rows = 37, columns = 53;
  const auto a = ramp(rows * columns);
  const auto b = ramp(columns, 0.5f);
  const auto x_array = array(a);
  const auto y_array = array(b);
  const DeviceArray<float> out(runtime(), rows * columns);
  run(program, {matrix(x_array.data(), rows, columns), y_array.view()},
      {matrix(out.data(), rows, columns)});
  auto result = out.read();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t k = 0; k < columns; ++k)
      ASSERT_EQ(result[i * columns + k], a[i * columns + k] - b[k]);
  // The transposed matrix has `rows` columns.
  const auto c = ramp(rows, 0.5f);
  const auto c_array = array(c);
  run(program,
      {strided(matrix(x_array.data(), columns, rows), 1, columns),
       c_array.view()},
      {matrix(out.data(), columns, rows)});
  result = out.read();
  for (std::int64_t k = 0; k < columns; ++k)
    for (std::int64_t i = 0; i < rows; ++i)
      ASSERT_EQ(result[k * rows + i], a[i * columns + k] - c[i]);
}

TEST_P(ProgramContract, WalksBackwardsAndStaysInPlace) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  builder.output(binary(Op::Add, x, y));
  const Program program = builder.build();
  const auto a = ramp(1000);
  const auto x_array = array(a);
  TensorView backwards(x_array.data() + 999, 1000);
  backwards.has_strides = true;
  backwards.strides[0] = -1;
  const DeviceArray<float> out(runtime(), 1000, 1.0f);
  run(program, {backwards, out.view()}, {out.view()});
  const auto result = out.read();
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(result[i], a[999 - i] + 1);
}

TEST_P(ProgramContract, MixesDTypes) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Int8, 1);
  const Value y = builder.input(DType::Float64, 1);
  const Value sum = binary(Op::Add, x, y);
  const Value wrapped = binary(Op::Multiply, x, x);
  const Value is_less = binary(Op::Less, x, y);
  builder.output(sum);
  builder.output(wrapped);
  builder.output(is_less);
  builder.output(ProgramBuilder::apply(Op::Where, {is_less, x, y}));
  builder.output(ProgramBuilder::cast(sum, DType::Float16));
  const Program program = builder.build();
  EXPECT_EQ(program.outputs()[1].dtype, DType::Int8);
  EXPECT_EQ(program.outputs()[2].dtype, DType::Bool);
  EXPECT_EQ(program.outputs()[3].dtype, DType::Float64);
  const std::int64_t size = 300;
  std::vector<std::int8_t> a(size);
  std::vector<double> b(size);
  for (std::int64_t i = 0; i < size; ++i) {
    a[i] = static_cast<std::int8_t>(i);
    b[i] = 0.5 * static_cast<double>(i) - 20;
  }
  const auto x_array = array(a);
  const auto y_array = array(b);
  const DeviceArray<double> sums(runtime(), size);
  const DeviceArray<std::int8_t> products(runtime(), size);
  const DeviceArray<std::uint8_t> flags(runtime(), size);
  const DeviceArray<double> chosen(runtime(), size);
  const DeviceArray<std::uint16_t> halves(runtime(), size);
  run(program, {TensorView(x_array.data(), size, DType::Int8), y_array.view()},
      {sums.view(), TensorView(products.data(), size, DType::Int8),
       TensorView(flags.data(), size, DType::Bool), chosen.view(),
       TensorView(halves.data(), size, DType::Float16)});
  const auto s = sums.read();
  const auto p = products.read();
  const auto f = flags.read();
  const auto c = chosen.read();
  for (std::int64_t i = 0; i < size; ++i) {
    ASSERT_EQ(s[i], a[i] + b[i]);
    ASSERT_EQ(p[i], static_cast<std::int8_t>(a[i] * a[i])) << i;
    ASSERT_EQ(f[i], a[i] < b[i] ? 1 : 0);
    ASSERT_EQ(c[i], a[i] < b[i] ? a[i] : b[i]);
  }
}

Program softmax_program() {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value most = ProgramBuilder::reduce(Op::Max, x, {{-1}}, true);
  const Value e = unary(Op::Exp, binary(Op::Subtract, x, most));
  const Value sum = ProgramBuilder::reduce(Op::Sum, e, {{-1}}, true);
  builder.output(binary(Op::Divide, e, sum));
  return builder.build();
}

TEST_P(ProgramContract, SoftmaxIsOneProgram) {
  const Program program = softmax_program();
  using Sizes = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [rows, columns] :
       {Sizes{1, 1}, Sizes{3, 5}, Sizes{32, 1000}, Sizes{700, 33},
        Sizes{2, 100'000}, Sizes{5000, 3}}) {
    const auto a = ramp(static_cast<std::size_t>(rows * columns));
    const auto x_array = array(a);
    const DeviceArray<float> out(runtime(), a.size());
    run(program, {matrix(x_array.data(), rows, columns)},
        {matrix(out.data(), rows, columns)});
    const auto result = out.read();
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* row = a.data() + i * columns;
      double most = row[0], sum = 0;
      for (std::int64_t k = 0; k < columns; ++k)
        most = std::max<double>(most, row[k]);
      for (std::int64_t k = 0; k < columns; ++k) sum += std::exp(row[k] - most);
      for (std::int64_t k = 0; k < columns; ++k)
        ASSERT_NEAR(result[i * columns + k], std::exp(row[k] - most) / sum,
                    2e-6 * (std::exp(row[k] - most) / sum))
            << rows << " " << columns << " " << i << " " << k;
    }
  }
}

TEST_P(ProgramContract, ReducesAnyAxes) {
  for (const std::vector<int>& axes :
       {std::vector<int>{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}}) {
    ProgramBuilder builder;
    const Value x = builder.input(DType::Int32, 3);
    builder.output(ProgramBuilder::reduce(Op::Sum, x, axes));
    builder.output(ProgramBuilder::reduce(Op::Max, x, axes, true));
    const Program program = builder.build();
    for (const Shape& shape : {Shape{4, 5, 6}, Shape{1, 300, 7},
                               Shape{100, 2, 90}, Shape{3, 3, 40'000}}) {
      const std::int64_t size = shape[0] * shape[1] * shape[2];
      std::vector<std::int32_t> a(static_cast<std::size_t>(size));
      for (std::size_t i = 0; i < a.size(); ++i)
        a[i] = static_cast<std::int32_t>(i * 2654435761u % 1000) - 500;
      const auto x_array = array(a);
      TensorView x_view(x_array.data(), shape[0]);
      x_view.dims = 3;
      std::copy(shape.begin(), shape.end(), x_view.shape.begin());
      const auto shapes = program.output_shapes(std::vector<Shape>{shape});
      std::vector<std::int64_t> kept = shape;
      for (const int axis : axes) kept[static_cast<std::size_t>(axis)] = 1;
      ASSERT_EQ(shapes[1], kept);
      const auto count = static_cast<std::size_t>(kept[0] * kept[1] * kept[2]);
      const DeviceArray<std::int64_t> sums(runtime(), count);
      const DeviceArray<std::int32_t> tops(runtime(), count);
      TensorView sum_view(sums.data(), 0);
      sum_view.dims = static_cast<std::uint8_t>(shapes[0].size());
      std::copy(shapes[0].begin(), shapes[0].end(), sum_view.shape.begin());
      TensorView top_view(tops.data(), 0);
      top_view.dims = 3;
      std::copy(kept.begin(), kept.end(), top_view.shape.begin());
      run(program, {x_view}, {sum_view, top_view});
      std::vector<std::int64_t> expected(count);
      std::vector<std::int32_t> expected_top(count, -10'000);
      for (std::int64_t i = 0; i < shape[0]; ++i)
        for (std::int64_t j = 0; j < shape[1]; ++j)
          for (std::int64_t k = 0; k < shape[2]; ++k) {
            const std::int64_t at =
                ((kept[0] == 1 ? 0 : i) * kept[1] + (kept[1] == 1 ? 0 : j)) *
                    kept[2] +
                (kept[2] == 1 ? 0 : k);
            const std::int32_t value =
                a[static_cast<std::size_t>((i * shape[1] + j) * shape[2] + k)];
            expected[static_cast<std::size_t>(at)] += value;
            auto& top = expected_top[static_cast<std::size_t>(at)];
            top = std::max(top, value);
          }
      ASSERT_EQ(sums.read(), expected) << axes.size() << " " << axes[0];
      ASSERT_EQ(tops.read(), expected_top);
    }
  }
}

TEST_P(ProgramContract, FindsPlaces) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  builder.output(ProgramBuilder::reduce(Op::Argmax, x, {{1}}));
  builder.output(ProgramBuilder::reduce(Op::Argmin, x));
  const Program program = builder.build();
  for (const std::int64_t columns : {1, 7, 600, 70'000}) {
    const std::int64_t rows = 3;
    std::vector<float> a(static_cast<std::size_t>(rows * columns));
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = static_cast<float>(i * 2654435761u % 1000);
    if (columns > 7) a[static_cast<std::size_t>(columns) + 5] = NAN;
    const auto x_array = array(a);
    const DeviceArray<std::int64_t> most(runtime(), 3);
    const DeviceArray<std::int64_t> least(runtime(), 1);
    TensorView scalar_view(least.data(), 0);
    scalar_view.dims = 0;
    run(program, {matrix(x_array.data(), rows, columns)},
        {most.view(), scalar_view});
    const auto places = most.read();
    for (std::int64_t i = 0; i < rows; ++i) {
      const float* row = a.data() + i * columns;
      std::int64_t expected = std::max_element(row, row + columns) - row;
      if (columns > 7 && i == 1) expected = 5;
      ASSERT_EQ(places[static_cast<std::size_t>(i)], expected) << columns;
    }
    const std::int64_t expected =
        columns > 7 ? columns + 5
                    : std::min_element(a.begin(), a.end()) - a.begin();
    ASSERT_EQ(least.read()[0], expected);
  }
}

TEST_P(ProgramContract, ResultsOfDifferentPassesComeTogether) {
  // The column means are whole before a row is divided by them.
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 2);
  const Value sum = ProgramBuilder::reduce(Op::Sum, x, {{0}});
  builder.output(binary(Op::Divide, x, sum));
  builder.output(
      ProgramBuilder::reduce(Op::Sum, binary(Op::Subtract, x, sum), {{1}}));
  const Program program = builder.build();
  const std::int64_t rows = 40, columns = 30;
  std::vector<float> a(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13);
  const auto x_array = array(a);
  const DeviceArray<float> quotients(runtime(), a.size());
  const DeviceArray<float> sums(runtime(), rows);
  run(program, {matrix(x_array.data(), rows, columns)},
      {matrix(quotients.data(), rows, columns), sums.view()});
  std::vector<float> column_sums(columns);
  for (std::size_t i = 0; i < a.size(); ++i) column_sums[i % columns] += a[i];
  const auto q = quotients.read();
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_EQ(q[i], a[i] / column_sums[i % columns]);
  const auto s = sums.read();
  for (std::int64_t i = 0; i < rows; ++i) {
    float expected = 0;
    for (std::int64_t k = 0; k < columns; ++k)
      expected += a[i * columns + k] - column_sums[k];
    ASSERT_EQ(s[i], expected);
  }
}

TEST_P(ProgramContract, ScalarsArePartOfTheCall) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value alpha = builder.number(1.0);
  builder.output(binary(Op::Multiply, x, alpha));
  const Program program = builder.build();
  const auto x_array = array(ramp(100));
  const DeviceArray<float> out(runtime(), 100);
  for (const double value : {0.5, -3.0, 1e30}) {
    run(program, {x_array.view()}, {out.view()}, {value});
    ASSERT_EQ(out.read()[7], x_array.read()[7] * static_cast<float>(value));
  }
}

TEST_P(ProgramContract, NeedsManyCells) {
  // Every partial sum is used again at the end.
  ProgramBuilder builder;
  Value sum = builder.input(DType::Float64, 1);
  std::vector<Value> sums{sum};
  for (int i = 0; i < 60; ++i) {
    sum = binary(Op::Add, sum, builder.literal(1.0));
    sums.push_back(sum);
  }
  Value total = sums.front();
  for (std::size_t i = 1; i < sums.size(); ++i)
    total = binary(Op::Subtract, sums[i], total);
  builder.output(total);
  const Program program = builder.build();
  std::vector<double> a(3000);
  std::iota(a.begin(), a.end(), 0.0);
  const auto x_array = array(a);
  const DeviceArray<double> out(runtime(), a.size());
  run(program, {x_array.view()}, {out.view()});
  const auto result = out.read();
  for (std::size_t i = 0; i < a.size(); ++i) ASSERT_EQ(result[i], a[i] + 30);
}

TEST_P(ProgramContract, RefusesWhatItCannotRun) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, 1);
  const Value y = builder.input(DType::Float32, 1);
  builder.output(binary(Op::Add, x, y));
  const Program program = builder.build();
  const DeviceArray<float> a(runtime(), 100);
  const DeviceArray<double> wrong(runtime(), 100);
  const auto submit = [&](std::vector<TensorView> in, TensorView out) {
    runtime().submit(program, in, std::vector<TensorView>{out});
  };
  EXPECT_THROW(submit({a.view()}, a.view()), InvalidArgument);
  EXPECT_THROW(submit({a.view(), wrong.view()}, a.view()), InvalidArgument);
  EXPECT_THROW(submit({a.view(0, 10), a.view(10, 20)}, a.view(50, 10)),
               InvalidArgument);
  EXPECT_THROW(submit({a.view(0, 10), a.view(10, 10)}, a.view(50, 11)),
               InvalidArgument);
  EXPECT_THROW(submit({a.view(0, 10), a.view(10, 10)}, a.view(5, 10)),
               InvalidArgument);
  EXPECT_NO_THROW(submit({a.view(0, 10), a.view(10, 10)}, a.view(50, 10)));
  synchronize();
}

}  // namespace
}  // namespace gpuos
