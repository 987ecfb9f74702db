#include "entry/requests_api.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <string>
#include <string_view>

#include "entry/override_calls.h"
#include "entry/schema.h"
#include "memory/next_tensors.h"
#include "planning/elementwise.h"
#include "planning/rows.h"
#include "pytorch/hooks.h"
#include "pytorch/keys.h"
#include "pytorch/python.h"

namespace gpuos::bridge {
namespace {

bool read_argument(PyObject* object, TorchOperand& operand) {
  if (THPVariable_Check(object)) {
    operand.tensor = &THPVariable_Unpack(object);
  } else if (PyFloat_Check(object)) {
    operand.number = PyFloat_AS_DOUBLE(object);
  } else if (PyLong_Check(object)) {
    operand.number = static_cast<std::int64_t>(PyLong_AsLongLong(object));
    if (PyErr_Occurred() != nullptr) return false;
  } else {
    PyErr_Format(PyExc_TypeError,
                 "submit: expected tensors and numbers, got %s",
                 Py_TYPE(object)->tp_name);
    return false;
  }
  return true;
}

PyObject* refuse(std::string_view name) {
  PyErr_Format(
      PyExc_ValueError,
      "submit: %s: expected tensors of one device without gradients whose "
      "shapes broadcast to that of out, of dtypes that fit it and each other, "
      "at whole elements of memory, and an out that does not overlap them in "
      "part",
      std::string(name).c_str());
  return nullptr;
}

bool may_put_off(std::span<const TorchOperand> operands, const Tensor& out) {
  for (const TorchOperand& operand : operands)
    if (!operand.is_number() && !is_without_grad(*operand.tensor)) return false;
  return is_without_grad(out);
}

/// Returns whether the shapes broadcast to that of `out`.
bool fit(std::span<const TorchOperand> operands, const Tensor& out) {
  Broadcast all;
  all.shape = Dims(out.sizes().begin(), out.sizes().end());
  return broadcast(operands, all) && out.sizes() == at::IntArrayRef(all.shape);
}

void note_write(const Tensor& out) {
  if (!out.is_inference()) out.unsafeGetTensorImpl()->bump_version();
}

/// The way of most calls: two tensors and an out that are alike. False: look
/// closer.
bool submit_alike(const Elementwise& what, PyObject* const* arguments) {
#pragma GCC unroll 3
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_ordinary(arguments[i])) return false;
    fetch_storage(THPVariable_Unpack(arguments[i]), /*is_counted=*/false);
    next_tensors[i].come_to(THPVariable_Unpack(arguments[i]));
  }
  const Tensor& out = THPVariable_Unpack(arguments[2]);
  fetch_version(out.unsafeGetTensorImpl()->version_counter());
#pragma GCC unroll 3
  for (std::size_t i = 0; i < 3; ++i)
    if (!is_without_grad(THPVariable_Unpack(arguments[i]))) return false;
  if (!defer_alike(what, THPVariable_Unpack(arguments[0]),
                   THPVariable_Unpack(arguments[1]), out,
                   kHoldsObjects ? arguments : nullptr))
    return false;
  note_write(out);
  return true;
}

PyObject* submit_named(std::string_view name, const Elementwise& what,
                       PyObject* const* arguments, Py_ssize_t count) {
  try {
    const auto wanted = static_cast<Py_ssize_t>(operands_of(what.function));
    if (C10_LIKELY(count == 3 && wanted == 2) && submit_alike(what, arguments))
      Py_RETURN_NONE;
    if (count != wanted + 1 || !THPVariable_Check(arguments[wanted])) {
      PyErr_Format(PyExc_TypeError,
                   "submit: %s: expected %zd operands and an out tensor",
                   std::string(name).c_str(), wanted);
      return nullptr;
    }
    TorchOperand operands[kMaxRequestOperands];
    for (Py_ssize_t i = 0; i + 1 < count; ++i)
      if (!read_argument(arguments[i], operands[i])) return nullptr;
    const std::span given(operands, static_cast<std::size_t>(count - 1));
    const Tensor& out = THPVariable_Unpack(arguments[count - 1]);
    if (!may_put_off(given, out)) return refuse(name);
    if (out.numel() == 0 && fit(given, out)) Py_RETURN_NONE;
    if (!defer(what, given, out, kAnySize).defined()) return refuse(name);
    note_write(out);
    Py_RETURN_NONE;
  } catch (...) {
    return raise_caught();
  }
}

std::string_view name_of_argument(PyObject* object) {
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object, &size);
  return text == nullptr ? std::string_view()
                         : std::string_view(text, static_cast<size_t>(size));
}

}  // namespace

PyObject* submit_request(PyObject*, PyObject* const* arguments,
                         Py_ssize_t count) {
  if (count < 1) {
    PyErr_SetString(PyExc_TypeError, "submit: expected a name");
    return nullptr;
  }
  const std::string_view name = name_of_argument(arguments[0]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const ElementwiseName* what = find_name(name);
  if (what == nullptr) {
    PyErr_Format(PyExc_ValueError,
                 "submit: expected the name of an elementwise operation, got "
                 "'%s'",
                 std::string(name).c_str());
    return nullptr;
  }
  const Elementwise as{what->function, what->rule};
  if (what->function == Function::Subtract && name == "rsub" && count == 4) {
    PyObject* const swapped[] = {arguments[2], arguments[1], arguments[3]};
    return submit_named(name, as, swapped, 3);
  }
  return submit_named(name, as, arguments + 1, count - 1);
}

PyObject* submit_add(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return submit_named("add", {Function::Add, Rule::Arithmetic}, arguments,
                      count);
}
PyObject* submit_sub(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return submit_named("sub", {Function::Subtract, Rule::Arithmetic}, arguments,
                      count);
}
PyObject* submit_mul(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return submit_named("mul", {Function::Multiply, Rule::Arithmetic}, arguments,
                      count);
}
PyObject* submit_div(PyObject*, PyObject* const* arguments, Py_ssize_t count) {
  return submit_named("div", {Function::Divide, Rule::Float}, arguments, count);
}

PyObject* submit_rows_request(PyObject*, PyObject* const* arguments,
                              Py_ssize_t count) {
  HANDLE_TH_ERRORS
  if (count != 5 || !THPVariable_Check(arguments[1]) ||
      !THPVariable_Check(arguments[2])) {
    PyErr_SetString(PyExc_TypeError,
                    "submit_reduce: expected a name, a tensor and an out "
                    "tensor");
    return nullptr;
  }
  const std::string_view name = name_of_argument(arguments[0]);
  if (PyErr_Occurred() != nullptr) return nullptr;
  const Tensor& tensor = THPVariable_Unpack(arguments[1]);
  const Tensor& out = THPVariable_Unpack(arguments[2]);
  if (tensor.numel() == 0) {
    PyErr_Format(PyExc_ValueError,
                 "submit_reduce: %s: expected a tensor with elements, got none",
                 std::string(name).c_str());
    return nullptr;
  }
  RowArguments row;
  std::vector<std::int64_t> dims;
  if (arguments[3] != Py_None) {
    PyObject* items = PySequence_Fast(arguments[3], "submit_reduce: dim");
    if (items == nullptr) return nullptr;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
      dims.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(items, i)));
    Py_DECREF(items);
    if (PyErr_Occurred() != nullptr) return nullptr;
    row.dims = dims;
  }
  row.keepdims = PyObject_IsTrue(arguments[4]) == 1;
  row.type = out.scalar_type();
  for (const RowName& one : kRowNames) {
    if (one.name != name) continue;
    const Rows what{one.function};
    if (is_without_grad(tensor) && is_without_grad(out) &&
        defer_rows_into(what, tensor, row, out)) {
      note_write(out);
      Py_RETURN_NONE;
    }
    return refuse(name);
  }
  PyErr_Format(PyExc_ValueError,
               "submit_reduce: expected the name of a reduction, got '%s'",
               std::string(name).c_str());
  return nullptr;
  END_HANDLE_TH_ERRORS
}

}  // namespace gpuos::bridge
