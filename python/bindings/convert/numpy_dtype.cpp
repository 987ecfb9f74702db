#include "convert/numpy_dtype.h"

#include <pybind11/numpy.h>

#include <exception>
#include <thread>

#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/python_module.h"
#include "module/without_gil.h"

namespace py = pybind11;

namespace gpuos::python {

namespace {

using NumPy = py::detail::npy_api;

constexpr int kNumPyHalf = 23;  // pybind11 does not name it

constexpr DType integer_dtype(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? DType::Int8 : DType::UInt8;
    case 2:
      return is_signed ? DType::Int16 : DType::UInt16;
    case 4:
      return is_signed ? DType::Int32 : DType::UInt32;
    default:
      return is_signed ? DType::Int64 : DType::UInt64;
  }
}

constexpr std::string_view kNumPy = "numpy";

// Finds the dtype of another package by its name, without an import.
std::optional<DType> dtype_of_others(PyObject* descriptor) {
  const auto known = dtype_from_name(dtype_text(descriptor));
  return known && package_of(*known) != kNumPy ? known : std::nullopt;
}

std::string join_known_dtypes() {
  std::string text = "dtype ";
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (i > 0) text += i + 1 < kDTypeCount ? ", " : " or ";
    text += name_of(static_cast<DType>(i));
  }
  return text + " in native byte order";
}

}  // namespace

void fetch_numpy() {
  static bool is_fetched = false;
  if (is_fetched) return;
  const py::object spec = python_module("numpy").attr("__spec__");
  // A signal handler runs in the middle of that import. Another thread would
  // wait for the end of the import.
  if (py::bool_(py::getattr(spec, "_initializing", py::bool_(false)))) return;
  // Handlers run only in the main thread, and PyGC_Disable() delays finalizers.
  const bool collected = PyGC_Disable() != 0;
  std::exception_ptr error;
  {
    const WithoutGil without;
    std::thread([&error] {
      const py::gil_scoped_acquire gil;
      try {
        py::dtype::of<float>();
        is_fetched = true;
      } catch (...) {
        error = std::current_exception();
      }
    }).join();
  }
  if (collected) PyGC_Enable();
  if (error) std::rethrow_exception(error);
}

const std::string& known_dtypes() {
  static const std::string text = join_known_dtypes();
  return text;
}

std::optional<DType> dtype_from_numpy(PyObject* descriptor) {
  const auto* d = py::detail::array_descriptor_proxy(descriptor);
  if (d->byteorder != '=' && d->byteorder != '|') return std::nullopt;
  switch (d->type_num) {
    case NumPy::NPY_FLOAT_:
      return DType::Float32;
    case NumPy::NPY_DOUBLE_:
      return DType::Float64;
    case NumPy::NPY_BOOL_:
      return DType::Bool;
    case NumPy::NPY_BYTE_:
      return DType::Int8;
    case NumPy::NPY_UBYTE_:
      return DType::UInt8;
    case NumPy::NPY_SHORT_:
      return DType::Int16;
    case NumPy::NPY_USHORT_:
      return DType::UInt16;
    case NumPy::NPY_INT_:
      return DType::Int32;
    case NumPy::NPY_UINT_:
      return DType::UInt32;
    case NumPy::NPY_LONG_:
      return integer_dtype(sizeof(long), true);
    case NumPy::NPY_ULONG_:
      return integer_dtype(sizeof(long), false);
    case NumPy::NPY_LONGLONG_:
      return DType::Int64;
    case NumPy::NPY_ULONGLONG_:
      return DType::UInt64;
    case kNumPyHalf:
      return DType::Float16;
    case NumPy::NPY_CFLOAT_:
      return DType::Complex64;
    case NumPy::NPY_CDOUBLE_:
      return DType::Complex128;
    default:
      return dtype_of_others(descriptor);
  }
}

DType dtype_of(py::handle dtype) {
  if (PyUnicode_Check(dtype.ptr())) {
    const auto known = dtype_from_name(text_of(dtype, "dtype"));
    if (known) return *known;
  }
  const py::object descriptor =
      py::dtype::from_args(py::reinterpret_borrow<py::object>(dtype));
  const auto known = dtype_from_numpy(descriptor.ptr());
  if (known) return *known;
  // NumPy's dtype of None and of objects that are not numbers.
  if (py::detail::array_descriptor_proxy(descriptor.ptr())->kind == 'O')
    throw WrongType("dtype: expected numbers, got None or another object");
  throw WrongType("dtype: expected " + known_dtypes() + ", got " +
                  dtype_text(descriptor));
}

py::dtype numpy_dtype(DType dtype) {
  const std::string name(name_of(dtype));
  const std::string package(package_of(dtype));
  if (package == kNumPy) return py::dtype(name);
  try {
    return py::dtype::from_args(
        python_module(package.c_str()).attr(name.c_str()));
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  throw py::type_error(name + ": expected the package " + package +
                       ", which gives NumPy this dtype; install it, or take "
                       "the array through DLPack (torch.from_dlpack)");
}

std::string dtype_text(py::handle dtype) { return shown(dtype); }

}  // namespace gpuos::python
