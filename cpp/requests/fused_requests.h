#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "gpuos/program.h"
#include "gpuos/requests.h"
#include "gpuos/scalar.h"
#include "gpuos/tensor_view.h"

namespace gpuos::requests {

/// The elements over which the elementwise requests of a program walk: `elems`
/// in C order, or the dimensions of `view` if there is one.
struct IterationSpace {
  std::uint64_t elems = 0;
  const TensorView* view = nullptr;
  std::uint8_t axes = 0;  // that reductions reduce
};

/// An array of `space` in C order without gaps.
TensorView flat_view(const IterationSpace& space, std::uint64_t address,
                     DType dtype);
/// Returns the view with one element along the axes that are reduced.
TensorView reduced_view(const IterationSpace& space, std::uint64_t address,
                        DType dtype);

/// Operand `place`, which is a number.
Scalar number_of(const Request& request, std::size_t place);

/// Builds a request alone, in a builder of its own. An empty value: its
/// function does not take the dtypes.
Value result_alone(const Request& request);

/// Where an operand comes from.
struct OperandSource {
  enum class Kind : std::uint8_t { Input, Number, Value };
  Kind kind = Kind::Input;
  std::uint8_t index = 0;  // of inputs or numbers; of a value the low bits
  std::uint16_t value = 0;

  std::uint64_t bits() const noexcept {
    return static_cast<std::uint64_t>(kind) << 16 |
           (kind == Kind::Value ? value : index);
  }
};

/// Requests that become one program, with the arguments of a call. Its memory
/// is used again for the next one.
class FusedRequests {
 public:
  struct Step {
    const Request* request = nullptr;
    std::array<OperandSource, kMaxRequestOperands> links{};
  };

  /// The fill level of a program, to which it can return.
  struct Mark {
    std::size_t steps = 0;
    std::size_t words = 0;
    std::size_t inputs = 0;
    std::uint64_t full_shapes = 0;
    std::size_t numbers = 0;
    std::size_t literal_users = 0;
    std::size_t literals = 0;
  };

  void clear() noexcept;
  Mark mark() const noexcept;
  /// Drops everything after the mark, and all outputs.
  void rewind(const Mark& mark) noexcept;

  /// An array. The same array twice is one input. `has_full_shape`: it has the
  /// space's shape.
  OperandSource input(const TensorView& array, bool has_full_shape);
  /// Operand `place` of `request`, of dtype `compute`. Equal numbers are one.
  OperandSource number(const Request& request, std::size_t place);
  /// Operand `place` of a whole function, whose numbers are in its order.
  OperandSource own_number(const Request& request, std::size_t place);
  /// Adds the next value and returns its index.
  std::uint16_t add(const Request& request,
                    std::span<const OperandSource> links);
  void output(std::uint16_t value, const TensorView& array,
              bool has_full_shape);

  /// Returns the most words that a task has, without outputs.
  std::size_t arguments() const noexcept {
    return inputs_.size() + numbers_.size() + literals_;
  }
  const std::vector<TensorView>& inputs() const { return inputs_; }
  const std::vector<TensorView>& outputs() const { return outputs_; }
  /// Returns the step of each output.
  const std::vector<std::uint16_t>& output_values() const {
    return output_values_;
  }
  const std::vector<Scalar>& numbers() const { return numbers_; }
  const std::vector<Step>& steps() const { return steps_; }

  /// Returns the words that decide the program: no address, size or number. It
  /// is called once, when the program is complete. The result is valid until
  /// the program is changed.
  std::span<const std::uint64_t> structure();

  Program build() const;
  /// Returns the whole functions, whose addresses the structure has.
  std::vector<std::shared_ptr<const ProgramFunction>> held() const;

 private:
  struct Number {
    DType dtype{};
    bool is_integer = false;
    std::uint64_t bits = 0;

    friend bool operator==(const Number&, const Number&) = default;
  };

  /// A request whose function has literals.
  struct LiteralUser {
    const RequestFunction* function = nullptr;
    DType compute{};
    DType out{};

    friend bool operator==(const LiteralUser&, const LiteralUser&) = default;
  };
  struct KnownLiterals {
    LiteralUser user{};
    std::uint32_t count = 0;
  };

  void clear_outputs() noexcept;
  static std::uint32_t literals_of(const Request& request);
  void count_literals(const Request& request);
  bool is_whole() const noexcept {
    return !steps_.empty() && gpuos::is_whole(*steps_.front().request);
  }

  std::vector<TensorView> inputs_;
  std::uint64_t full_shapes_ =
      0;  // a bit for each input with the space's shape
  std::vector<TensorView> outputs_;
  std::vector<std::uint16_t> output_values_;
  std::uint64_t framed_outputs_ = 0;
  std::vector<Number> known_numbers_;
  std::vector<Scalar> numbers_;
  std::vector<Step> steps_;
  std::vector<std::uint64_t> words_;
  std::vector<LiteralUser> literal_users_;
  std::size_t literals_ = 0;
  std::array<KnownLiterals, 256> known_literals_{};
};

/// Returns whether both are the same elements in the same places.
bool is_same_array(const TensorView& a, const TensorView& b) noexcept;

/// Programs by the structure of the program that they were built for.
class ProgramCache {
 public:
  /// The program of `fused`, empty if it needs several; valid until the next
  /// call.
  /// Throws: InvalidArgument for dtypes that the only function does not take.
  Program& find(FusedRequests& fused);

  /// Returns the number of built programs.
  std::uint64_t built() const noexcept { return built_; }

 private:
  Program build(const FusedRequests& fused);

  /// Structures that ever change must not fill the memory.
  static constexpr std::size_t kMaxPrograms = 4096;

  struct View {
    std::span<const std::uint64_t> words;
    std::uint64_t hash;
  };
  struct Key {
    std::vector<std::uint64_t> words;
    std::uint64_t hash;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept { return key.hash; }
    std::size_t operator()(const View& view) const noexcept {
      return view.hash;
    }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Key& a, const Key& b) const noexcept {
      return a.words == b.words;
    }
    bool operator()(const View& a, const Key& b) const noexcept;
  };

  struct Known {
    Program program;
    std::vector<std::shared_ptr<const ProgramFunction>> functions;
  };
  using Map = std::unordered_map<Key, Known, Hash, Equal>;

  Map programs_;
  Map::value_type* last_ = nullptr;  // the last found one, or null
  std::uint64_t built_ = 0;
};

}  // namespace gpuos::requests
