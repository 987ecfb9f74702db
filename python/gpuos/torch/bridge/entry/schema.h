// Turns the arguments of an operator's overload into operands.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <vector>

#include "entry/table.h"
#include "planning/elementwise.h"
#include "planning/rows.h"

namespace gpuos::bridge {

enum class Argument : std::uint8_t {
  Tensor,
  Tensors,  // of a _foreach form
  Number,   // or none, as bounds may be
  Numbers,  // one for each tensor of a _foreach form
  Alpha,
  RoundingMode,
  Approximate,   // of gelu
  Type,          // a dtype, or none
  Format,        // a memory format; only the tensor's own is taken
  MustBeAbsent,  // anything but none is left to PyTorch
  Ignored,
  Out
};

/// An overload whose every argument is understood.
struct OverloadForm {
  const ElementwiseName* what = nullptr;
  std::vector<Argument> arguments{};
  bool is_in_place = false;
  bool is_foreach = false;
};

/// Empty for overloads that are left to PyTorch.
std::optional<OverloadForm> form_of(const c10::FunctionSchema& schema);

/// Returns the function for exponents for which PyTorch has something simpler
/// than a power, too, for numbers of this type.
std::optional<Function> simpler_power(double exponent, at::ScalarType type);

/// One call of an overload: the operands and the output of each result.
struct OverloadCall {
  struct Item {
    Elementwise what{};
    c10::SmallVector<TorchOperand, kMaxRequestOperands> operands{};
    Tensor out{};
    std::optional<at::ScalarType> type{};
  };
  std::vector<Item> items;
  /// The tensors that the items' operands point at.
  std::vector<Tensor> tensors;
};

/// False: PyTorch must do it. `arguments` are the schema's, on the stack.
bool read_call(const OverloadForm& form, c10::ArrayRef<c10::IValue> arguments,
               OverloadCall& call);

/// The call of a reduction's overload.
struct RowCall {
  Tensor tensor;
  RowArguments arguments{};
  Rows what{};
  std::vector<std::int64_t> dims;
};
bool read_row_call(const RowName& name, const c10::FunctionSchema& schema,
                   c10::ArrayRef<c10::IValue> arguments, RowCall& call);

}  // namespace gpuos::bridge
