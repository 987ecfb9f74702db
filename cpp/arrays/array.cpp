#include "gpuos/array.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos {

/// The state that all copies of an array share.
struct ArrayData {
  Arrays& arrays;
  TensorView view;
  Buffer memory{};
  std::shared_ptr<LazyOperation> operation{};

  /// Takes memory for the elements.
  void place() {
    const std::size_t bytes =
        static_cast<std::size_t>(view.size()) * size_of(view.dtype);
    // An empty array has an address, too.
    memory = arrays.runtime().allocate(std::max<std::size_t>(bytes, 1));
    view.data = memory.get();
  }
  /// Throws: the reason why an earlier run did not compute it.
  void check() const {
    if (operation != nullptr && operation->failure() != nullptr)
      std::rethrow_exception(operation->failure());
  }
  /// Runs the operation that computes it. Throws: the reason why it failed.
  void compute() {
    if (operation == nullptr) return;
    arrays.run();
    check();
  }
};

/// An operation whose result is an Array.
class Array::Operation : public LazyOperation {
 public:
  using LazyOperation::LazyOperation;

  /// Lets the array go, which is computed unless the operation failed.
  void finish() noexcept {
    const std::shared_ptr<ArrayData> array = data.lock();
    if (array != nullptr && failure() == nullptr) array->operation.reset();
  }

  std::weak_ptr<ArrayData> data;
  std::vector<std::shared_ptr<ArrayData>> held;  // operands in memory

 protected:
  bool is_wanted() const noexcept override { return !data.expired(); }
  void* place() override {
    const std::shared_ptr<ArrayData> array = data.lock();
    if (array == nullptr) return LazyOperation::place();
    array->place();
    return array->view.data;
  }
};

namespace {

/// Operations come first, then reductions, then functions of users.
constexpr std::uint64_t kFirstReduction = 256;
constexpr std::uint64_t kFirstOfUsers = std::uint64_t{1} << 52;

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> next{kFirstOfUsers};
  return next.fetch_add(1, std::memory_order_relaxed);
}

TensorView form_of(const Shape& shape, DType dtype) {
  TensorView form;
  form.dtype = dtype;
  form.dims = static_cast<std::uint8_t>(shape.size());
  std::copy(shape.begin(), shape.end(), form.shape.begin());
  return form;
}

}  // namespace

FusedFunction::FusedFunction(Function function)
    : function_(std::make_shared<const Function>(std::move(function))),
      id_(next_id()) {}

Array FusedFunction::call(std::span<const ArrayOperand> arguments) const {
  return Arrays::apply(id_, *function_, arguments);
}

Array Arrays::copy_of(const void* values, std::size_t bytes, const Shape& shape,
                      DType dtype) {
  if (shape.size() > kMaxDims)
    throw InvalidArgument(concat("array: expected at most ", kMaxDims,
                                 " dimensions, got ", shape.size()));
  const TensorView form = form_of(shape, dtype);
  std::uint64_t wanted = size_of(dtype);
  const bool is_possible = std::ranges::all_of(shape, [&](std::int64_t extent) {
    return extent >= 0 && !__builtin_mul_overflow(wanted, extent, &wanted);
  });
  if (!is_possible || wanted != bytes)
    throw InvalidArgument(concat("array: expected as many values as ",
                                 to_string(form), " has, got ",
                                 bytes / size_of(dtype)));
  Buffer memory = runtime().allocate(std::max<std::size_t>(bytes, 1));
  TensorView view = form;
  view.data = memory.get();
  if (bytes != 0) runtime().copy_to_device(view.data, values, bytes);
  return Array(std::make_shared<ArrayData>(*this, view, std::move(memory)));
}

void Arrays::run() {
  if (lazy_.is_empty()) return;
  const LazyOperations::Operations operations = lazy_.take();
  lazy_.submit(operations);
  lazy_.remove(operations);
  for (const auto& operation : operations)
    static_cast<Array::Operation&>(*operation).finish();
}

/// Builds the program of a function of C++.
class Arrays::Tracer : public FunctionTracer {
 public:
  explicit Tracer(const FusedFunction::Function& function)
      : function_(function) {}

  std::vector<Value> run(ProgramBuilder& builder,
                         TracedFunction& made) override {
    std::vector<Value> values;
    auto number = made.call.scalars.begin();
    for (const ArgumentWord& word : made.call.words)
      values.push_back(word.kind == ArgumentKind::Array
                           ? builder.input(word.dtype, word.rank)
                           : stand_for(builder, word, *number++));
    return {function_(values)};
  }

 private:
  const FusedFunction::Function& function_;
};

// Submits a function of too many arguments at once.
void Arrays::submit(const Program& program,
                    std::span<const ArrayOperand> arguments, ArrayData& data,
                    std::span<const Scalar> scalars) {
  std::vector<TensorView> inputs;
  for (const ArrayOperand& one : arguments)
    if (one.array() != nullptr) inputs.push_back(one.array()->view());
  data.place();
  data.arrays.runtime().submit(program, inputs, {&data.view, 1}, scalars);
}

Array Arrays::apply(std::uint64_t id, const FusedFunction::Function& function,
                    std::span<const ArrayOperand> arguments) {
  const auto first = std::ranges::find_if(
      arguments,
      [](const ArrayOperand& one) { return one.array() != nullptr; });
  if (first == arguments.end())
    throw InvalidArgument(
        "array: expected an array among the arguments, got "
        "none");
  Arrays& all = first->array()->data_->arrays;
  if (arguments.size() > kMaxFusedArguments)
    throw InvalidArgument(concat("array: expected at most ", kMaxFusedArguments,
                                 " arguments, got ", arguments.size()));
  CallArguments call(id);
  for (const ArrayOperand& one : arguments) {
    if (one.array() == nullptr) {
      const Scalar& number = one.number();
      call.add_number(ArgumentKind::Number,
                      one.is_bool()         ? DType::Bool
                      : number.is_integer() ? DType::Int64
                      : number.is_complex() ? DType::Complex128
                                            : DType::Float64,
                      number);
      continue;
    }
    const ArrayData& data = *one.array()->data_;
    if (&data.arrays != &all)
      throw InvalidArgument("array: expected arrays of one Arrays, got two");
    data.check();
    call.add_array([&] { return data.view; });
  }
  const TraceCache::Running running(all.functions_);
  Tracer tracer(function);
  TracedFunction& traced = all.functions_.find_or_trace(call, tracer);
  const TensorView form = traced.output_forms(call.inputs())->front();
  auto data = std::make_shared<ArrayData>(all, form);
  if (form.size() == 0) {
    data->place();
    return Array(std::move(data));
  }
  if (!LazyOperations::can_wait(arguments.size())) {
    submit(traced.program(), arguments, *data, call.scalars());
    return Array(std::move(data));
  }
  if (all.lazy_.is_full()) all.run();
  auto operation =
      std::make_shared<Array::Operation>(all.lazy_, traced.function(), form);
  operation->data = data;
  for (const ArrayOperand& one : arguments) {
    if (one.array() == nullptr) continue;
    const ArrayData& of = *one.array()->data_;
    if (of.operation != nullptr) {
      operation->add(of.operation);
    } else {
      operation->add(of.view);
      operation->held.push_back(one.array()->data_);
    }
  }
  operation->set_scalars(call.scalars());
  all.lazy_.add(*operation);
  data->operation = std::move(operation);
  return Array(std::move(data));
}

Shape Array::shape() const {
  return {data_->view.shape.begin(),
          data_->view.shape.begin() + data_->view.dims};
}

DType Array::dtype() const noexcept { return data_->view.dtype; }

TensorView Array::view() const {
  data_->compute();
  return data_->view;
}

std::size_t Array::size_as(std::size_t itemsize, DType dtype) const {
  if (dtype != data_->view.dtype || itemsize != size_of(dtype))
    throw InvalidArgument(concat("array: expected elements of ",
                                 name_of(data_->view.dtype), ", got ",
                                 name_of(dtype)));
  return static_cast<std::size_t>(data_->view.size());
}

void Array::refuse_item() const {
  throw InvalidArgument(concat("item: expected an array of one element, got ",
                               to_string(data_->view)));
}

void Array::copy_to(void* values) const {
  const TensorView from = view();
  const auto elems = static_cast<std::size_t>(from.size());
  if (elems != 0)
    data_->arrays.runtime().copy_to_host(values, from.data,
                                         elems * size_of(from.dtype));
}

Array elementwise(Op op, std::initializer_list<ArrayOperand> operands) {
  return Arrays::apply(
      static_cast<std::uint64_t>(op),
      [op](std::span<const Value> values) {
        const std::vector<Operand> all(values.begin(), values.end());
        return elementwise(op, all);
      },
      std::span(operands.begin(), operands.size()));
}

Array Array::reduced(Reduction which, const Axes& axes, bool keepdims) const {
  constexpr Value (*kReduce[])(const Value&, const Axes&, bool) = {
      gpuos::sum, gpuos::prod, gpuos::mean, gpuos::max,
      gpuos::min, gpuos::any,  gpuos::all};
  const auto place = static_cast<std::size_t>(which);
  std::uint64_t id = kFirstReduction + place;
  std::uint64_t shift = 16;
  for (const int axis : axes.value_or(std::vector<int>())) {
    id |= static_cast<std::uint64_t>(axis & 15) << shift;
    shift += 4;
  }
  id |= (shift - 16) << 44 | std::uint64_t{axes.has_value()} << 50 |
        std::uint64_t{keepdims} << 51;
  const ArrayOperand self[] = {*this};
  return Arrays::apply(
      id,
      [&](std::span<const Value> x) {
        return kReduce[place](x[0], axes, keepdims);
      },
      self);
}

#define GPUOS_REDUCTION(name, which)                         \
  Array Array::name(const Axes& axes, bool keepdims) const { \
    return reduced(Reduction::which, axes, keepdims);        \
  }
GPUOS_REDUCTION(sum, Sum)
GPUOS_REDUCTION(prod, Prod)
GPUOS_REDUCTION(mean, Mean)
GPUOS_REDUCTION(max, Max)
GPUOS_REDUCTION(min, Min)
GPUOS_REDUCTION(any, Any)
GPUOS_REDUCTION(all, All)
#undef GPUOS_REDUCTION

}  // namespace gpuos
