// Tests how a call's arrays become loops, and very large ones several tasks.
#include "program/calls/layout.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "gpuos/error.h"
#include "gpuos/program.h"
#include "program/calls/task.h"
#include "program/graph/sizes.h"
#include "views.h"

namespace gpuos::program {
namespace {

Program sum_of_two(int rank) {
  ProgramBuilder builder;
  const Value x = builder.input(DType::Float32, rank);
  const Value y = builder.input(DType::Float32, rank);
  builder.output(ProgramBuilder::apply(Op::Add, {x, y}));
  return builder.build();
}

TensorView matrix(std::uint64_t address, std::int64_t rows,
                  std::int64_t columns, bool is_transposed = false) {
  const TensorView data(reinterpret_cast<float*>(address), rows);
  if (!is_transposed) return shaped(data, {rows, columns});
  return shaped(data, {rows, columns}, {1, rows});
}

Layout layout_of(const Program& program, const std::vector<TensorView>& views,
                 std::int64_t rows, std::int64_t columns) {
  const Pass& pass = program.plan()->fused.passes[0];
  std::vector<const std::int64_t*> shapes;
  for (std::size_t i = 0; i + 1 < views.size(); ++i)
    shapes.push_back(views[i].shape.data());
  std::vector<std::int64_t> sizes;
  find_sizes(*program.plan(), shapes, sizes);
  std::vector<const TensorView*> of_access;
  for (const BufferAccess& access : pass.accesses)
    of_access.push_back(access.writes ? &views.back()
                                      : &views[access.buffer.index]);
  Layout layout;
  make_layout(pass, sizes, of_access, layout);
  EXPECT_EQ(layout.elements(), static_cast<std::uint64_t>(rows * columns));
  return layout;
}

TEST(ProgramLayout, ContiguousDimensionsBecomeOne) {
  const Program program = sum_of_two(2);
  const Layout layout = layout_of(
      program,
      {matrix(0x1000, 6, 8), matrix(0x2000, 6, 8), matrix(0x3000, 6, 8)}, 6, 8);
  EXPECT_EQ(layout.inner, 1u);
  EXPECT_EQ(flat_accesses(program.plan()->fused.passes[0], layout), 7u);
}

TEST(ProgramLayout, TheOutputsShortestStrideComesLast) {
  const Program program = sum_of_two(2);
  const Layout layout =
      layout_of(program,
                {matrix(0x1000, 6, 8, true), matrix(0x2000, 6, 8, true),
                 matrix(0x3000, 6, 8, true)},
                6, 8);
  EXPECT_EQ(flat_accesses(program.plan()->fused.passes[0], layout), 7u);
}

TEST(ProgramLayout, PiecesTouchEveryElementOnce) {
  const Program program = sum_of_two(2);
  const Pass& pass = program.plan()->fused.passes[0];
  for (const bool is_transposed : {false, true}) {
    const Layout layout =
        layout_of(program,
                  {matrix(0x1000, 7, 9, is_transposed), matrix(0x2000, 7, 9),
                   matrix(0x3000, 7, 9)},
                  7, 9);
    std::uint32_t out = 0;
    while (!pass.accesses[out].writes) ++out;
    std::set<std::uint64_t> written;
    std::size_t pieces = 0;
    for_each_piece(pass, layout, 10, [&](const Layout& piece) {
      ++pieces;
      ASSERT_LE(piece.elements(), 10u);
      ASSERT_LE(piece.dims(), 2u);
      const std::uint64_t second = piece.dims() == 2 ? piece.sizes[1] : 1;
      for (std::uint64_t i = 0; i < piece.elements(); ++i) {
        std::uint64_t at = piece.addresses[out];
        at += i / second * static_cast<std::uint64_t>(piece.strides[out][0]);
        if (piece.dims() == 2)
          at += i % second * static_cast<std::uint64_t>(piece.strides[out][1]);
        EXPECT_TRUE(written.insert(at).second) << at;
      }
    });
    EXPECT_GE(pieces, 7u);
    EXPECT_EQ(written.size(), 63u);
    EXPECT_EQ(*written.begin(), 0x3000u);
    EXPECT_EQ(*written.rbegin(), 0x3000u + 62 * 4);
  }
}

TEST(ProgramLayout, MoreElementsThanCanBeCountedAreRefused) {
  constexpr std::int64_t kWide = std::int64_t{1} << 32;
  const Program program = sum_of_two(2);
  using Shapes = std::vector<Shape>;
  EXPECT_THROW(program.output_shapes(Shapes{{kWide, kWide}, {1, 1}}),
               InvalidArgument);
  EXPECT_THROW(program.output_shapes(Shapes{{kWide + 1, 1}, {1, kWide}}),
               InvalidArgument);
  EXPECT_EQ(program.output_shapes(Shapes{{kWide, 0}, {1, 1}})[0],
            (Shape{kWide, 0}));
  EXPECT_EQ(program.output_shapes(Shapes{{kWide, 4}, {1, 1}})[0],
            (Shape{kWide, 4}));
}

TEST(ProgramLayout, SizesThatATaskHasNoRoomForAreRefused) {
  constexpr std::int64_t kWide = std::int64_t{1} << 32;
  const Program program = sum_of_two(2);
  TensorView gaps = matrix(0x1000, 2, kWide);
  gaps.has_strides = true;
  gaps.strides = {2 * kWide, 1};
  const TensorView plain = matrix(0x2000, 2, kWide);
  EXPECT_THROW(layout_of(program, {gaps, plain, plain}, 2, kWide),
               InvalidArgument);
  layout_of(program, {plain, plain, plain}, 2, kWide);
}

}  // namespace
}  // namespace gpuos::program
