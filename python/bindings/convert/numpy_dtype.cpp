#include "convert/numpy_dtype.h"

#include <pybind11/numpy.h>

#include <array>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>

#include "convert/reading.h"
#include "gpuos/dlpack.h"
#include "gpuos/error.h"
#include "module/python_module.h"
#include "module/without_gil.h"

namespace py = pybind11;

namespace gpuos::python {

namespace {

using NumPy = py::detail::npy_api;

constexpr int kNumPyHalf = 23;  // pybind11 does not name it
static_assert(sizeof(long) == 8);

// Holds the dtypes by NumPy's numbers, and kDTypeCount for others.
constexpr auto kByNumber = [] {
  std::array<std::uint8_t, kNumPyHalf + 1> all;
  all.fill(kDTypeCount);
  const std::pair<int, DType> known[] = {
      {NumPy::NPY_BOOL_, DType::Bool},
      {NumPy::NPY_BYTE_, DType::Int8},
      {NumPy::NPY_UBYTE_, DType::UInt8},
      {NumPy::NPY_SHORT_, DType::Int16},
      {NumPy::NPY_USHORT_, DType::UInt16},
      {NumPy::NPY_INT_, DType::Int32},
      {NumPy::NPY_UINT_, DType::UInt32},
      {NumPy::NPY_LONG_, DType::Int64},
      {NumPy::NPY_ULONG_, DType::UInt64},
      {NumPy::NPY_LONGLONG_, DType::Int64},
      {NumPy::NPY_ULONGLONG_, DType::UInt64},
      {kNumPyHalf, DType::Float16},
      {NumPy::NPY_FLOAT_, DType::Float32},
      {NumPy::NPY_DOUBLE_, DType::Float64},
      {NumPy::NPY_CFLOAT_, DType::Complex64},
      {NumPy::NPY_CDOUBLE_, DType::Complex128}};
  for (const auto& [number, dtype] : known)
    all[static_cast<std::size_t>(number)] = static_cast<std::uint8_t>(dtype);
  return all;
}();

constexpr std::string_view kNumPy = "numpy";

// Finds the dtype of another package by its name, without an import.
std::optional<DType> dtype_of_others(PyObject* descriptor) {
  const auto known = dtype_from_name(dtype_text(descriptor));
  return known && package_of(*known) != kNumPy ? known : std::nullopt;
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

std::optional<DType> dtype_from_numpy(PyObject* descriptor) {
  const auto* d = py::detail::array_descriptor_proxy(descriptor);
  if (d->byteorder != '=' && d->byteorder != '|') return std::nullopt;
  const auto number = static_cast<std::size_t>(d->type_num);
  if (number < kByNumber.size() && kByNumber[number] < kDTypeCount)
    return static_cast<DType>(kByNumber[number]);
  return dtype_of_others(descriptor);
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
