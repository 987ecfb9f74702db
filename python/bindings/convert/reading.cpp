#include "convert/reading.h"

#include <cstddef>
#include <string>
#include <string_view>

#include "gpuos/error.h"
#include "module/pybind_objects.h"

namespace py = pybind11;

namespace gpuos::python {

py::object index_of(py::handle object, const char* what) {
  if (PyIndex_Check(object.ptr()) == 0) refuse_type(what, "an integer", object);
  const auto number =
      py::reinterpret_steal<py::object>(PyNumber_Index(object.ptr()));
  if (!number) throw py::error_already_set();
  return number;
}

std::string text_of(py::handle object, const char* what) {
  if (PyUnicode_Check(object.ptr()) == 0) refuse_type(what, "a str", object);
  Py_ssize_t size = 0;
  const char* text = PyUnicode_AsUTF8AndSize(object.ptr(), &size);
  if (text == nullptr) {
    if (PyErr_ExceptionMatches(PyExc_UnicodeError) == 0)
      throw py::error_already_set();
    PyErr_Clear();
    throw InvalidArgument(std::string(what) +
                          ": expected text that UTF-8 can hold, got " +
                          shown(object));
  }
  return {text, static_cast<std::size_t>(size)};
}

std::optional<Scalar> scalar_of_int(PyObject* integer) noexcept {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow == 0) return Scalar(value);
  const unsigned long long large = PyLong_AsUnsignedLongLong(integer);
  if (PyErr_Occurred() == nullptr) return Scalar(large);
  PyErr_Clear();
  return {};
}

std::int64_t integer_of(py::handle object, const char* what) {
  const py::object number = index_of(object, what);
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    refuse_range(what, std::numeric_limits<std::int64_t>::min(),
                 std::numeric_limits<std::int64_t>::max(), number);
  return value;
}

std::uint64_t version_from(py::handle object, const char* what) {
  if (object.is_none()) return 0;
  const auto version = integer_as<std::uint64_t>(object, what);
  if (version == 0)
    throw InvalidArgument(std::string(what) +
                          ": expected the number of a version, from 1 on, got "
                          "0");
  return version;
}

void* address_of(py::handle object, const char* what) {
  const py::object number = index_of(object, what);
  const std::size_t address = PyLong_AsSize_t(number.ptr());
  if (address == static_cast<std::size_t>(-1) && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    refuse_range(what, 0, std::numeric_limits<std::size_t>::max(), number);
  }
  // NOLINTNEXTLINE(performance-no-int-to-ptr)
  return reinterpret_cast<void*>(address);
}

double real_of(py::handle object, const char* what) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value != -1.0 || PyErr_Occurred() == nullptr) return value;
  if (PyErr_ExceptionMatches(PyExc_TypeError) == 0)
    throw py::error_already_set();
  PyErr_Clear();
  refuse_type(what, "a number", object);
}

bool truth_of(py::handle object) {
  const int is_true = PyObject_IsTrue(object.ptr());
  if (is_true < 0) throw py::error_already_set();
  return is_true == 1;
}

py::tuple items_of(py::handle object, const char* what) {
  const bool is_text =
      PyUnicode_Check(object.ptr()) != 0 || PyBytes_Check(object.ptr()) != 0;
  const bool is_iterable = Py_TYPE(object.ptr())->tp_iter != nullptr ||
                           PySequence_Check(object.ptr()) != 0;
  if (is_text || !is_iterable) refuse_type(what, "a sequence", object);
  const auto items =
      py::reinterpret_steal<py::tuple>(PySequence_Tuple(object.ptr()));
  if (!items) throw py::error_already_set();
  return items;
}

std::vector<std::int64_t> integers_of(py::handle object, const char* what) {
  std::vector<std::int64_t> numbers;
  for (const py::handle item : items_of(object, what))
    numbers.push_back(integer_of(item, what));
  return numbers;
}

std::vector<std::string> texts_of(py::handle object, const char* what) {
  std::vector<std::string> texts;
  for (const py::handle item : items_of(object, what))
    texts.push_back(text_of(item, what));
  return texts;
}

std::vector<std::string> folders_of(py::handle object, const char* what) {
  std::vector<std::string> folders;
  for (const py::handle item : items_of(object, what)) {
    const auto path =
        has_attribute(item, "__fspath__")
            ? py::reinterpret_steal<py::object>(PyOS_FSPath(item.ptr()))
            : py::reinterpret_borrow<py::object>(item);
    if (!path) throw py::error_already_set();
    folders.push_back(text_of(path, what));
  }
  return folders;
}

std::vector<std::pair<py::object, py::object>> pairs_of(py::handle object,
                                                        const char* what) {
  const bool is_dict = PyDict_Check(object.ptr()) != 0;
  if (!is_dict && !has_attribute(object, "keys"))
    refuse_type(what, "a dict", object);
  const auto items = py::reinterpret_steal<py::object>(
      is_dict ? PyDict_Items(object.ptr()) : PyMapping_Items(object.ptr()));
  if (!items) throw py::error_already_set();
  std::vector<std::pair<py::object, py::object>> pairs;
  for (const py::handle item : items_of(items, what)) {
    const py::tuple pair = items_of(item, what);
    if (pair.size() != 2) refuse_type(what, "pairs of a key and a value", item);
    pairs.emplace_back(pair[0], pair[1]);
  }
  return pairs;
}

std::string whole_text(py::handle object) {
  const auto text =
      py::reinterpret_steal<py::object>(PyObject_Str(object.ptr()));
  const auto bytes = py::reinterpret_steal<py::object>(
      text ? PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace")
           : nullptr);
  if (!bytes) {
    PyErr_Clear();
    return Py_TYPE(object.ptr())->tp_name;
  }
  return {PyBytes_AS_STRING(bytes.ptr()),
          static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

std::string shown(py::handle object) {
  constexpr std::size_t kLongest = 200;
  std::string text = whole_text(object);
  if (text.size() > kLongest) text.replace(kLongest, text.npos, "...");
  return text;
}

std::string type_text(py::handle object) {
  const auto type = py::type::of(object);
  return shown(type.attr("__module__")) + "." +
         shown(type.attr("__qualname__"));
}

std::string kind_shown(py::handle object) {
  std::string kind = Py_TYPE(object.ptr())->tp_name;
  constexpr std::string_view kOwn = "gpuos._core.";
  if (kind.starts_with(kOwn)) kind.replace(0, kOwn.size(), "gpuos.");
  if (PyFloat_CheckExact(object.ptr())) return kind + " " + shown(object);
  if (PyUnicode_CheckExact(object.ptr()) &&
      PyUnicode_AsUTF8(object.ptr()) == nullptr) {
    PyErr_Clear();
    return kind + " with a lone surrogate";
  }
  if (!PyLong_CheckExact(object.ptr())) return kind;
  int overflow = 0;
  PyLong_AsLongLongAndOverflow(object.ptr(), &overflow);
  return overflow == 0 ? kind + " " + shown(object)
                       : kind + " of more than 64 bits";
}

void refuse_type(const char* what, const char* expected, py::handle got) {
  throw py::type_error(std::string(what) + ": expected " + expected + ", got " +
                       kind_shown(got));
}

void refuse_range(const char* what, std::int64_t least, std::uint64_t most,
                  py::handle got) {
  throw InvalidArgument(std::string(what) + ": expected an integer of " +
                        std::to_string(least) + " to " + std::to_string(most) +
                        ", got " + kind_shown(got));
}

namespace {

Stream from_handle(const py::handle& handle) {
  return Stream(address_of(handle, "stream"));
}

}  // namespace

Stream stream_from(PyObject* stream) {
  const py::handle object(stream);
  if (object.is_none()) return {};
  if (PyLong_Check(stream) != 0) return from_handle(object);
  if (has_attribute(object, "__cuda_stream__")) {
    const py::object given = object.attr("__cuda_stream__")();
    const py::tuple pair = items_of(given, "__cuda_stream__");
    if (pair.size() != 2)
      refuse_type("__cuda_stream__", "a version and a handle", given);
    return from_handle(pair[1]);
  }
  for (const char* name : {"cuda_stream", "ptr"}) {
    if (has_attribute(object, name)) return from_handle(object.attr(name));
  }
  throw py::type_error(
      "stream: expected None, an integer or a stream object, got " +
      kind_shown(object));
}

}  // namespace gpuos::python
