#include "expression/interpreter.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <vector>

#include "device/math.h"
#include "expression/interpreter_loops.h"
#include "expression/lower.h"

namespace gpuos {
namespace expression {
namespace {

constexpr std::size_t kScratchBytes = 32 * 1024;  // of a level-one cache
constexpr std::size_t kMaxChunk = 1024;           // elements
constexpr std::uint32_t kMaxInputs = abi::kMaxArgs;

// A chunk of one operand: first the inputs, then the output, then registers.
using Place = std::uint32_t;
constexpr Place kOutput = kMaxInputs;
constexpr Place kFirstRegister = kOutput + 1;

template <typename T>
struct Step {
  StepFn<T> run = nullptr;
  Place out = 0;
  std::array<Place, 3> operands{};
};

template <typename T>
struct Fill {
  Place out = 0;
  T value{};
  bool is_param = false;
  DType param_dtype{};
  u32 argument = 0;
};

template <typename T>
T read_param(const Task& task, u32 argument, DType dtype) {
  switch (dtype) {
    case DType::Float32:
      return convert<T>(task.scalar<float>(argument));
    case DType::Float64:
      return convert<T>(task.scalar<double>(argument));
    case DType::Int32:
      return convert<T>(task.scalar<int>(argument));
    default:
      return convert<T>(task.scalar<long long>(argument));
  }
}

template <typename T>
struct Program {
  std::vector<Fill<T>> fills;  // once a call
  std::vector<Step<T>> setup;  // once a call: values that no input changes
  std::vector<Step<T>> steps;  // once a chunk
  u32 inputs = 0;
  std::size_t chunk = kMaxChunk;

  void run(const Task& task) const;
};

template <typename T>
void Program<T>::run(const Task& task) const {
  alignas(64) T scratch[kScratchBytes / sizeof(T)];
  const T* in[kMaxInputs];
  for (u32 k = 0; k < inputs; ++k) in[k] = task.pointer<const T>(1 + k);
  T* const out = task.pointer<T>(0);

  std::size_t begin = 0;
  const auto write = [&](Place place) {
    return place == kOutput ? out + begin
                            : scratch + (place - kFirstRegister) * chunk;
  };
  const auto read = [&](Place place) -> const T* {
    return place < kOutput ? in[place] + begin : write(place);
  };
  const auto run_steps = [&](const std::vector<Step<T>>& list,
                             std::size_t count) {
    for (const Step<T>& step : list) {
      step.run(write(step.out), read(step.operands[0]), read(step.operands[1]),
               read(step.operands[2]), count);
    }
  };

  const std::size_t widest = std::min<std::size_t>(chunk, task.count);
  for (const Fill<T>& fill : fills) {
    const T value = fill.is_param
                        ? read_param<T>(task, fill.argument, fill.param_dtype)
                        : fill.value;
    std::fill_n(write(fill.out), widest, value);
  }
  run_steps(setup, widest);
  for (; begin < task.count; begin += chunk) {
    run_steps(steps, std::min<std::size_t>(chunk, task.count - begin));
  }
}

template <typename T>
class Builder {
 public:
  Builder(const Expression& expression, const Lowered& lowered)
      : expression_(expression),
        lowered_(lowered),
        place_of_(lowered.values.size()),
        last_use_(lowered.values.size()) {}

  Program<T> build() {
    program_.inputs = static_cast<u32>(expression_.inputs.size());
    find_last_uses();
    // Uniform values keep their registers for the whole call, so they come
    // before any register is used a second time.
    for (const bool is_uniform : {true, false}) {
      for (std::uint32_t i = 0; i < lowered_.values.size(); ++i) {
        if (!lowered_.is_used[i]) continue;
        if (lowered_.is_uniform[i] == is_uniform) add_value(i);
      }
    }
    add_copy_if_needed();
    set_chunk();
    return std::move(program_);
  }

 private:
  std::uint32_t result() const {
    return static_cast<std::uint32_t>(lowered_.values.size() - 1);
  }

  void find_last_uses() {
    for (std::uint32_t i = 0; i < lowered_.values.size(); ++i) {
      const Value& value = lowered_.values[i];
      if (value.kind != Value::Kind::Operation) continue;
      for (std::size_t k = 0; k < info_of(value.opcode).operands; ++k) {
        last_use_[value.operands[k]] = i;
      }
    }
  }

  void add_value(std::uint32_t i) {
    const Value& value = lowered_.values[i];
    switch (value.kind) {
      case Value::Kind::Input:
        place_of_[i] = value.index;
        break;
      case Value::Kind::Param:
        place_of_[i] = take_register();
        program_.fills.push_back(
            {.out = place_of_[i],
             .is_param = true,
             .param_dtype = expression_.params[value.index].dtype,
             .argument = 1 + program_.inputs + value.index});
        break;
      case Value::Kind::Constant:
        place_of_[i] = take_register();
        program_.fills.push_back(
            {.out = place_of_[i], .value = constant(value.bits)});
        break;
      case Value::Kind::Operation:
        add_operation(i, value);
        break;
    }
  }

  static T constant(std::uint64_t bits) {
    if constexpr (sizeof(T) == 4) {
      return std::bit_cast<T>(static_cast<std::uint32_t>(bits));
    } else {
      return std::bit_cast<T>(bits);
    }
  }

  void add_operation(std::uint32_t i, const Value& value) {
    Step<T> step;
    step.run = find_step<T>(value.opcode);
    assert(step.run != nullptr);
    const std::size_t operands = info_of(value.opcode).operands;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      step.operands[k] = place_of_[value.operands[k < operands ? k : 0]];
    }
    const bool is_uniform = lowered_.is_uniform[i];
    // The result may take the register of an operand that ends here.
    if (!is_uniform) free_operands(i, value);
    step.out = i == result() && !is_uniform ? kOutput : take_register();
    place_of_[i] = step.out;
    (is_uniform ? program_.setup : program_.steps).push_back(step);
  }

  void free_operands(std::uint32_t i, const Value& value) {
    for (std::size_t k = 0; k < info_of(value.opcode).operands; ++k) {
      const std::uint32_t operand = value.operands[k];
      // Uniform values are needed again by the next chunk.
      if (last_use_[operand] != i || lowered_.is_uniform[operand]) continue;
      if (lowered_.values[operand].kind == Value::Kind::Input) continue;
      last_use_[operand] = 0;  // `x * x` frees its operand once
      free_.push_back(place_of_[operand]);
    }
  }

  Place take_register() {
    if (free_.empty()) return kFirstRegister + registers_++;
    const Place place = free_.back();
    free_.pop_back();
    return place;
  }

  void add_copy_if_needed() {
    const Place place = place_of_[result()];
    if (place == kOutput) return;
    program_.steps.push_back({copy_chunk<T>, kOutput, {place, place, place}});
  }

  void set_chunk() {
    if (registers_ == 0) return;
    const std::size_t room = kScratchBytes / sizeof(T) / registers_;
    program_.chunk = std::min(kMaxChunk, room >= 16 ? room / 16 * 16 : room);
  }

  const Expression& expression_;
  const Lowered& lowered_;
  Program<T> program_;
  std::vector<Place> place_of_;
  std::vector<std::uint32_t> last_use_;
  std::vector<Place> free_;
  std::uint32_t registers_ = 0;
};

}  // namespace
}  // namespace expression

class InterpreterProgram {
 public:
  virtual ~InterpreterProgram() = default;
  virtual void run(const Task& task) const = 0;
};

namespace {

template <typename T>
class TypedProgram final : public InterpreterProgram {
 public:
  explicit TypedProgram(expression::Program<T> program)
      : program_(std::move(program)) {}
  void run(const Task& task) const override { program_.run(task); }

 private:
  expression::Program<T> program_;
};

template <typename T>
std::shared_ptr<const InterpreterProgram> make_typed(
    const Expression& expression, const expression::Lowered& lowered) {
  return std::make_shared<TypedProgram<T>>(
      expression::Builder<T>(expression, lowered).build());
}

}  // namespace

std::shared_ptr<const InterpreterProgram> make_interpreter_program(
    const Expression& expression, DType dtype) {
  const expression::Lowered lowered = expression::lower(expression, dtype);
  switch (dtype) {
    case DType::Float32:
      return make_typed<float>(expression, lowered);
    case DType::Float64:
      return make_typed<double>(expression, lowered);
    case DType::Int32:
      return make_typed<int>(expression, lowered);
    default:
      return make_typed<long long>(expression, lowered);
  }
}

void interpret(Task task, Lane) {
  static_cast<const InterpreterProgram*>(task.state)->run(task);
}

}  // namespace gpuos
