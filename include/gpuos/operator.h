#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/dtype.h"
#include "gpuos/scalar.h"

namespace gpuos {

/// A scalar that an operator takes by value.
struct Parameter {
  std::string name{};
  DType dtype = DType::Float32;
  /// The value in a call that does not give it. If it is empty, each call must.
  std::optional<Scalar> default_value{};
};

struct DeviceCode;  // private

/// Device code from another compiler: relocatable, with an extern "C" function
/// that becomes an operator. docs/operators.md states its signature.
struct DeviceObject {
  enum class Kind : std::uint8_t { Ptx, LtoIr, Cubin };

  Kind kind = Kind::Ptx;
  std::string bytes{};   // the text of PTX, or what a file of it has
  std::string symbol{};  // of the function; empty: the operator's name
};

/// The argument of Runtime::define() and Runtime::replace(): an expression, a
/// source or an object. The last two are whole operators.
struct OperatorDefinition {
  std::string name{};
  /// "o = alpha * x + y". Names that are neither `params` nor functions are
  /// inputs. It is a program, as docs/expressions.md says.
  std::string expression{};
  /// CUDA C++ that contains GPUOS_OPERATOR(name) { ... }.
  std::string source{};
  /// In place of a source, on a GPU only. `inputs` must give their number.
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
  /// The number of input buffers. -1: as many as an expression or `input_names`
  /// has, otherwise any number.
  int inputs = -1;
  /// Whole operators only. True: element i of the output depends on element i
  /// of each input, shapes must agree and a large task may be split into
  /// tiles. False: any shapes, one worker runs the whole task.
  bool elementwise = true;
  /// Whole operators only: starts with NVRTC's fastest compilation, and
  /// switches to optimised code when it is ready. The host backend compiles
  /// once.
  bool tiered = false;
  /// For whole operators only. An index out of range, or an argument read as
  /// another type, reads 0 or writes nowhere, and fails the task with
  /// TaskError. None: the environment variable GPUOS_CHECKED decides, and
  /// replace() keeps the setting. docs/checked.md lists the limits.
  std::optional<bool> checked{};
  /// Set by a Session, and for an object: what `source` calls.
  std::shared_ptr<const DeviceCode> code{};
};

/// Returns 64 hexadecimal digits that identify a definition without its name.
/// One text under two names thus has one digest.
std::string digest_of(const OperatorDefinition& definition);

struct OperatorRecord;  // private

/// One of the bodies that an operator has had: replace() and rollback() make a
/// new one, whose number is one more.
struct OperatorVersion {
  std::uint64_t number = 0;
  /// The version that rollback() takes back. 0 means none.
  std::uint64_t before = 0;
  std::string expression{};  // empty: it has none
  std::string source{};      // the same
  std::vector<Parameter> params{};
  std::string symbol{};  // of an object's function; the same
  bool is_builtin = false;
  bool is_current = false;
  /// The argument with which define() makes it again. It is null for a built-in
  /// operator and for one of a Session.
  std::shared_ptr<const OperatorDefinition> definition{};
};

/// A defined operator. It is a cheap handle, and copies mean the same operator.
class Operator {
 public:
  Operator() = default;
  explicit Operator(std::shared_ptr<OperatorRecord> record)
      : record_(std::move(record)) {}

  const std::string& name() const;
  /// False for a default-made handle and after undefine().
  bool is_defined() const noexcept;
  /// The number of inputs that submit() takes. -1 means any number.
  int inputs() const;
  /// Their names in order. Empty if they have none.
  const std::vector<std::string>& input_names() const;
  /// The text of an expression. Empty for a whole operator or a built-in one.
  std::string expression() const;
  /// Returns whether that has a reduction: then one element of the result is
  /// computed of many, and the arrays cannot be given in parts.
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
  /// The last of them. Throws: InvalidArgument after undefine().
  OperatorVersion current() const;
  const std::shared_ptr<OperatorRecord>& record() const noexcept {
    return record_;
  }

 private:
  std::shared_ptr<OperatorRecord> record_;
};

/// One of the changes that Runtime::change() makes at one moment.
struct OperatorChange {
  OperatorDefinition definition{};
  Operator replaces{};         // empty: the definition's name is a new one
  std::uint64_t expected = 0;  // the version that is replaced; 0: any
};

/// A name that points to an operator. switch_to() and rollback() are one store.
/// Tasks submitted before the store run their old operator. After
/// Runtime::undefine() all functions except name() throw InvalidArgument.
class Alias {
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
  /// The alias as an operator, for submit().
  Operator as_operator() const { return Operator(record_); }

 private:
  std::shared_ptr<OperatorRecord> record_;
};

}  // namespace gpuos
