// Expressions, from their text to the host interpreter's results for some small
// arrays. The bytes after a zero byte choose these arrays.
#include "expression/expression.h"

#include <array>

#include "gpuos/error.h"
#include "gpuos/runtime.h"
#include "small_arrays.h"
#include "target.h"

namespace gpuos::fuzz {
namespace {

const std::array kParams{Parameter{"alpha", DType::Float32},
                         Parameter{"k", DType::Int64}};
const std::array<Scalar, 2> kScalars{1.5f, 3};

void run(const Program& program, std::span<const SmallArray> arrays,
         SmallArray& out) {
  std::vector<TensorView> inputs;
  for (const SmallArray& array : arrays) inputs.push_back(array.view());
  // A program of numbers alone asks the output for its shape.
  if (inputs.empty()) inputs.push_back(out.view());
  const TensorView output = out.view();
  host_runtime().submit(program, inputs, {&output, 1}, kScalars);
  host_runtime().synchronize(std::chrono::seconds(60));
}

void check(const Expression& expression, Bytes& bytes) {
  std::vector<SmallArray> arrays;
  std::vector<ProgramArgument> arguments;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < expression.inputs.size(); ++i) {
    arrays.push_back(draw_array(bytes));
    arguments.push_back(arrays.back().argument());
    shapes.push_back(arrays.back().shape);
  }
  const DType dtype = draw_dtype(bytes);
  const Program program = program_of(expression, arguments, {dtype, 1});
  if (shapes.empty()) shapes.push_back({3});
  const std::vector<Shape> made = program.output_shapes(shapes);
  SmallArray out(dtype, made.at(0));
  const std::vector<SmallArray> before = arrays;
  run(program, arrays, out);
  const SmallArray first = out;
  run(program, arrays, out);
  expect(first.memory == out.memory, "a program gives the same again");
  expect(before == arrays, "inputs are not written");
}

}  // namespace
}  // namespace gpuos::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace gpuos;
  const std::string_view all = fuzz::text_of(data, size);
  const std::size_t end = std::min(all.find('\0'), all.size());
  fuzz::Bytes bytes(all.substr(std::min(end + 1, all.size())));
  try {
    const Expression expression =
        parse_expression(all.substr(0, end), fuzz::kParams);
    if (expression.inputs.size() <= fuzz::kMostArrays)
      fuzz::check(expression, bytes);
  } catch (const InvalidArgument&) {
  }
  return 0;
}
