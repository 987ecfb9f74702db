#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/export.h"
#include "gpuos/scalar.h"

namespace gpuos {

/// Is a scalar that an operator takes by value.
struct Parameter {
  std::string name{};
  DType dtype = DType::Float32;
  /// The value in a call that does not pass it. If empty, each call passes it.
  std::optional<Scalar> default_value{};
};

struct DeviceCode;  // private

/// Contains relocatable device code of another compiler. Its extern "C"
/// function becomes an operator. docs/operators.md states the signature.
struct DeviceObject {
  enum class Kind : std::uint8_t { Ptx, LtoIr, Cubin };

  Kind kind = Kind::Ptx;
  std::string bytes{};   // PTX, or the contents of a file
  std::string symbol{};  // function; empty: the operator's name
};

/// Is the argument of Runtime::define() and Runtime::replace(): an expression,
/// a source or an object. The last two make whole operators.
struct OperatorDefinition {
  std::string name{};
  /// "o = alpha * x + y". Names that are neither `params` nor functions are
  /// inputs. It is a program, as docs/expressions.md says.
  std::string expression{};
  /// CUDA C++ that contains GPUOS_OPERATOR(name) { ... }.
  std::string source{};
  /// Replaces the source, on a GPU only. `inputs` must be set.
  std::optional<DeviceObject> object{};
  /// Parameters with a default value come last. replace() takes those of the
  /// operator, then others with default values. If it is empty, they stay.
  std::vector<Parameter> params{};
  /// Element types of the buffers. An expression takes these and no others, or
  /// all if empty. A whole operator has one, float32 if empty.
  std::vector<DType> dtypes{};
  /// Names of the inputs, in order. If empty, an expression uses the order of
  /// first use, replace() keeps the old names, and a whole operator has none.
  std::vector<std::string> input_names{};
  /// The number of input buffers. -1 means the number in the expression or in
  /// `input_names`, otherwise any number.
  int inputs = -1;
  /// For whole operators only. If true, element i of the output depends only on
  /// element i of each input. Shapes must then agree, and a large task may be
  /// split into tiles. If false, shapes may differ and one worker runs the
  /// task.
  bool elementwise = true;
  /// For whole operators only. Starts with NVRTC's fastest compilation, and
  /// switches to optimised code when it is ready. The host backend compiles
  /// once.
  bool tiered = false;
  /// For whole operators only. An access with an index out of range, or to an
  /// argument of another type, reads 0 or writes nothing. The task then fails
  /// with TaskError. If empty, the environment variable GPUOS_CHECKED decides,
  /// and replace() keeps the setting. docs/checked.md lists the limits.
  std::optional<bool> checked{};
  /// The code that `source` calls. A Session sets it, and so does an object.
  std::shared_ptr<const DeviceCode> code{};
};

/// Returns 64 hexadecimal digits that identify a definition without its name.
/// A text with two names thus has one digest.
GPUOS_API std::string digest_of(const OperatorDefinition& definition);

struct OperatorRecord;  // private

/// Describes one body that an operator has had. replace() and rollback() make a
/// new one, whose number is one higher.
struct OperatorVersion {
  std::uint64_t number = 0;
  /// The version that rollback() restores. 0 means none.
  std::uint64_t before = 0;
  std::string expression{};  // empty if it has none
  std::string source{};      // empty if it has none
  std::vector<Parameter> params{};
  std::string symbol{};  // an object's function, or empty
  bool is_builtin = false;
  bool is_current = false;
  /// The argument that makes it again with define(). It is null for operators
  /// that are built in or of a Session.
  std::shared_ptr<const OperatorDefinition> definition{};
};

/// Is a cheap handle of a defined operator. Copies mean the same operator.
class GPUOS_API Operator {
 public:
  Operator() = default;
  explicit Operator(std::shared_ptr<OperatorRecord> record)
      : record_(std::move(record)) {}

  const std::string& name() const;
  /// Returns false for an empty handle and after undefine().
  bool is_defined() const noexcept;
  /// Returns the number of inputs that submit() takes. -1 means any number.
  int inputs() const;
  /// Returns their names in order, none if they have no names.
  const std::vector<std::string>& input_names() const;
  /// Returns the text of an expression. It is empty for any other operator.
  std::string expression() const;
  /// Returns whether the expression has a reduction. An element of the result
  /// then depends on many, and arrays cannot be passed in parts.
  bool reduces() const;
  /// Returns the parameters of its current version, in order.
  const std::vector<Parameter>& params() const;
  /// Returns the operator with fixed parameters. If some have default values,
  /// submit() to it throws Superseded once the current version has others. A
  /// caller that binds names to positions therefore binds them to the code that
  /// will run.
  Operator pinned() const;
  /// Returns its versions that are loaded, the current one last. There are none
  /// after undefine().
  std::vector<OperatorVersion> versions() const;
  /// Returns the current version. Throws: InvalidArgument after undefine().
  OperatorVersion current() const;
  const std::shared_ptr<OperatorRecord>& record() const noexcept {
    return record_;
  }

 private:
  std::shared_ptr<OperatorRecord> record_;
};

/// Describes one of the changes that Runtime::change() makes together.
struct OperatorChange {
  OperatorDefinition definition{};
  Operator replaces{};         // empty: the definition's name is new
  std::uint64_t expected = 0;  // the version that is replaced; 0: any
};

/// Is a name that points to an operator. switch_to() and rollback() are one
/// store. Tasks submitted before the store run their old operator. After
/// Runtime::undefine() all functions except name() throw InvalidArgument.
class GPUOS_API Alias {
 public:
  Alias() = default;
  explicit Alias(std::shared_ptr<OperatorRecord> record)
      : record_(std::move(record)) {}

  const std::string& name() const;
  /// Throws: InvalidArgument after undefine().
  Operator target() const;
  /// Throws: InvalidArgument if `target` takes other arguments or is gone.
  void switch_to(const Operator& target);
  /// Returns to the target before the last switch_to(), up to 256 times.
  /// Throws: InvalidArgument if there is none.
  void rollback();
  /// Returns the alias as an operator, for submit().
  Operator as_operator() const { return Operator(record_); }

 private:
  std::shared_ptr<OperatorRecord> record_;
};

}  // namespace gpuos
