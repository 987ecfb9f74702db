#include "fused/fused_call.h"

#include <algorithm>
#include <string>

#include "arrays/array.h"
#include "convert/array_view.h"
#include "convert/keywords.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Returns whether the tuple has arrays. Without arrays, a tuple decides what
// the function does.
bool has_array(PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    PyObject* item = PyTuple_GET_ITEM(tuple, i);
    if (PyTuple_Check(item)) {
      if (has_array(item)) return true;
      continue;
    }
    if (PyList_Check(item) || PyDict_Check(item) || Py_TYPE(item) == value_type)
      return true;
    const bool is_plain = PyLong_CheckExact(item) || PyFloat_CheckExact(item) ||
                          PyUnicode_CheckExact(item) || PyType_Check(item);
    if (!is_plain && py::hasattr(py::type::of(item), "__dlpack__")) return true;
  }
  return false;
}

}  // namespace

FusedCall::FusedCall(const char* name, PyObject* const* args, std::size_t count,
                     PyObject* names)
    : name_(name) {
  const CallNames& known = call_names();
  for (std::size_t i = 0; i < count; ++i) add_item(nullptr, args[i]);
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(names, i);
    PyObject* value = args[count + static_cast<std::size_t>(i)];
    if (is_name(keyword, known.out)) {
      out = value == Py_None ? nullptr : value;
    } else if (is_name(keyword, known.stream)) {
      stream = value;
    } else {
      add_item(keyword, value);
    }
  }
}

void FusedCall::add_item(PyObject* name, PyObject* value) {
  if (item_count_ == kMaxFusedArguments) {
    throw InvalidArgument(std::string(name_) + ": expected at most " +
                          std::to_string(kMaxFusedArguments) +
                          " arguments, got more");
  }
  items_[item_count_++] = {name, value};
  constexpr unsigned long kContainers = Py_TPFLAGS_LIST_SUBCLASS |
                                        Py_TPFLAGS_DICT_SUBCLASS |
                                        Py_TPFLAGS_TUPLE_SUBCLASS;
  if (PyType_HasFeature(Py_TYPE(value), kContainers) != 0)
    may_have_container_ = true;
}

bool FusedCall::has_container() const {
  if (!may_have_container_) return false;
  return std::ranges::any_of(items(), [](const Item& item) {
    return PyList_Check(item.value) || PyDict_Check(item.value) ||
           (PyTuple_Check(item.value) && has_array(item.value));
  });
}

bool FusedCall::is_traced() const noexcept {
  for (const Item& item : items()) {
    if (Py_TYPE(item.value) == value_type) return true;
  }
  return false;
}

bool FusedCall::has_exported() const noexcept {
  const auto is_exported = [](PyObject* object) {
    return object != nullptr && Py_TYPE(object) == array_type &&
           native<Array>(object)->is_exported();
  };
  return is_exported(out) ||
         std::ranges::any_of(items(), is_exported, &Item::value);
}

std::shared_ptr<RuntimeObject> FusedCall::find_runtime() const {
  for (const Item& item : items()) {
    if (Py_TYPE(item.value) == array_type)
      return native<Array>(item.value)->runtime().shared_from_this();
  }
  if (out != nullptr && Py_TYPE(out) == array_type)
    return native<Array>(out)->runtime().shared_from_this();
  return nullptr;
}

void FusedCall::read(Arguments& arguments) {
  int number = 0;
  for (const Item& item : items()) {
    if (item.name != nullptr)
      add_object(ArgumentKind::Keyword, item.name, hash_of(item.name));
    read_item(item.value, arguments, number++);
  }
}

bool FusedCall::read_forms(const RuntimeObject& runtime) {
  if (out != nullptr || stream != Py_None) return false;
  for (const Item& item : items()) {
    if (item.name != nullptr) return false;
    PyObject* object = item.value;
    if (Py_TYPE(object) != array_type) {
      if (read_number(object)) continue;
      if (is_static(object) || !read_scalar(object)) return false;
      continue;
    }
    const Array& array = *native<Array>(object);
    if (&array.runtime() != &runtime || array.is_exported()) return false;
    const TensorView& form = add_array([&] { return array.form(); });
    if (form.size() == 0) return false;
    arrays_.add([&] { return object; });
  }
  return true;
}

bool FusedCall::read_number(PyObject* object) {
  const DType dtype = kind_of_number(object);
  if (dtype == DType::Float32) return false;
  if (dtype == DType::Int64 && is_too_wide(object)) [[unlikely]] {
    // Python computes with it.
    add_object(ArgumentKind::Static, object, hash_of(object));
    return true;
  }
  add_number(ArgumentKind::Number, dtype, scalar_from(object), object);
  return true;
}

bool FusedCall::read_scalar(PyObject* object) {
  if (!is_numpy_scalar(object)) return false;
  add_number(is_ndarray(object) ? ArgumentKind::Point : ArgumentKind::Scalar,
             dtype_of_scalar(object), number_of(object), object);
  return true;
}

void FusedCall::read_item(PyObject* object, Arguments& arguments, int number) {
  if (Py_TYPE(object) != array_type) {
    if (read_number(object)) return;
    if (is_static(object)) {
      add_object(ArgumentKind::Static, object, hash_of(object));
      return;
    }
    if (read_scalar(object)) return;
  }
  add_array([&] { return arguments.view(object, {name_, number}); });
}

}  // namespace gpuos::python
