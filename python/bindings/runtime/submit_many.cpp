
#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "convert/arguments.h"
#include "convert/keywords.h"
#include "convert/numpy_dtype.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "module/pybind_objects.h"
#include "runtime/runtime_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Holds one argument of all tasks.
struct ReadColumn {
  Column column;
  std::size_t tasks = 0;
  DType dtype = DType::Float32;
  bool read_only = false;
  std::int64_t size = 0;            // elements of each task, unless `sizes` is
                                    // filled
  std::vector<std::int64_t> sizes;  // elements of each task
  std::vector<std::uint64_t> addresses;
};

TensorView view_of(Arguments& arguments, PyObject* object, Role role) {
  return role.input < 0 ? arguments.out_view(object, role)
                        : arguments.view(object, role);
}

bool is_sequence(PyObject* object) {
  return PyList_Check(object) || PyTuple_Check(object);
}

ReadColumn read_sequence(Arguments& arguments, PyObject* object, Role role) {
  // A list may change while the call runs without the GIL.
  const py::tuple items = items_of(object, role.call);
  ReadColumn read;
  read.tasks = static_cast<std::size_t>(PyTuple_GET_SIZE(items.ptr()));
  read.addresses.reserve(read.tasks);
  read.sizes.reserve(read.tasks);
  for (std::size_t i = 0; i < read.tasks; ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.ptr(), static_cast<Py_ssize_t>(i));
    const TensorView view = view_of(arguments, item, role);
    check_contiguous(view, role);
    if (i == 0) read.dtype = view.dtype;
    if (view.dtype != read.dtype) {
      throw InvalidArgument(
          role.text() + ": expected " + std::string(name_of(read.dtype)) +
          " for all tasks, got " + std::string(name_of(view.dtype)) +
          " for task " + std::to_string(i));
    }
    read.read_only = read.read_only || view.read_only;
    read.addresses.push_back(reinterpret_cast<std::uint64_t>(view.data));
    read.sizes.push_back(view.size());
  }
  read.column.addresses = read.addresses.data();
  arguments.keep(items);
  return read;
}

ReadColumn read_rows(Arguments& arguments, PyObject* object, Role role) {
  const TensorView view = view_of(arguments, object, role);
  check_contiguous(view, role);
  if (view.dims == 0) {
    throw InvalidArgument(role.text() +
                          ": expected rows along the first axis, got an "
                          "array of shape ()");
  }
  ReadColumn read;
  read.dtype = view.dtype;
  read.read_only = view.read_only;
  read.tasks = static_cast<std::size_t>(view.shape[0]);
  TensorView row = view;
  row.shape[0] = 1;
  read.size = row.size();
  read.column.base = reinterpret_cast<std::uint64_t>(view.data);
  read.column.step_bytes =
      read.size * static_cast<std::int64_t>(size_of(view.dtype));
  return read;
}

class Columns {
 public:
  explicit Columns(const OperatorObject& op)
      : is_elementwise_(op.definition.elementwise) {}

  void add(ReadColumn read, Role role) {
    if (role.input < 0 && read.read_only) {
      throw InvalidArgument(role.text() +
                            ": expected writable memory, got read-only");
    }
    if (columns_.empty()) {
      many_.tasks = read.tasks;
      many_.dtype = read.dtype;
    } else {
      check(read, role);
    }
    columns_.push_back(std::move(read));
    if (role.input < 0) {
      many_.out = columns_.back().column;
    } else {
      many_.inputs.push_back(columns_.back().column);
    }
  }

  // Takes the sizes of the output, which is the last column.
  void take_sizes() {
    const ReadColumn& out = columns_.back();
    many_.size = out.size;
    if (!out.sizes.empty()) many_.sizes = out.sizes.data();
  }

  ManyTasks& many() noexcept { return many_; }

 private:
  static std::int64_t size_at(const ReadColumn& read, std::size_t task) {
    return read.sizes.empty() ? read.size : read.sizes[task];
  }

  void check(const ReadColumn& read, Role role) const {
    const ReadColumn& first = columns_.front();
    if (read.tasks != first.tasks) {
      throw InvalidArgument(role.text() + ": expected " +
                            std::to_string(first.tasks) + " tasks, got " +
                            std::to_string(read.tasks));
    }
    if (read.dtype != first.dtype) {
      throw InvalidArgument(role.text() + ": expected " +
                            std::string(name_of(first.dtype)) + ", got " +
                            std::string(name_of(read.dtype)));
    }
    if (!is_elementwise_) return;
    const std::size_t compared = read.sizes.empty() && first.sizes.empty()
                                     ? std::min<std::size_t>(read.tasks, 1)
                                     : read.tasks;
    for (std::size_t i = 0; i < compared; ++i) {
      if (size_at(read, i) == size_at(first, i)) continue;
      throw InvalidArgument(role.text() + ": expected " +
                            std::to_string(size_at(first, i)) +
                            " elements in task " + std::to_string(i) +
                            ", got " + std::to_string(size_at(read, i)));
    }
  }

  bool is_elementwise_;
  ManyTasks many_;
  std::deque<ReadColumn> columns_;  // `many_` points into these
};

void read_arrays(Columns& columns, Arguments& arguments,
                 std::span<PyObject* const> objects, const char* name) {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const bool is_out = i + 1 == objects.size();
    const Role role{name, is_out ? -1 : static_cast<int>(i)};
    columns.add(is_sequence(objects[i])
                    ? read_sequence(arguments, objects[i], role)
                    : read_rows(arguments, objects[i], role),
                role);
  }
  columns.take_sizes();
}

void read_addresses(ManyTasks& many, std::span<PyObject* const> objects,
                    const Keywords& keywords, const char* name) {
  if (keywords.dtype == nullptr) {
    throw InvalidArgument(std::string(name) +
                          ": expected dtype= with sizes=, got none");
  }
  many.dtype = dtype_of(keywords.dtype);
  const auto check = [&](const char* what, std::size_t count) {
    if (count == many.tasks) return;
    throw InvalidArgument(std::string(name) + ": expected " +
                          std::to_string(many.tasks) + " " + what + ", got " +
                          std::to_string(count));
  };
  for (std::size_t i = 0; i < objects.size(); ++i) {
    const Integers addresses = ndarray_integers(objects[i], "addresses");
    if (i == 0) many.tasks = addresses.count;
    check("addresses", addresses.count);
    Column column;
    column.addresses = static_cast<const std::uint64_t*>(addresses.data);
    if (i + 1 == objects.size()) {
      many.out = column;
    } else {
      many.inputs.push_back(column);
    }
  }
  if (PyIndex_Check(keywords.sizes) != 0 && !is_ndarray(keywords.sizes)) {
    many.size = integer_of(keywords.sizes, "sizes");
    return;
  }
  const Integers sizes = ndarray_integers(keywords.sizes, "sizes");
  check("sizes", sizes.count);
  many.sizes = static_cast<const std::int64_t*>(sizes.data);
}

}  // namespace

Ticket submit_many(RuntimeObject& runtime, PyObject* const* args,
                   std::size_t count, PyObject* names) {
  if (count == 0)
    throw py::type_error("submit_many: expected an operator, got no argument");
  runtime.run_deferred();
  runtime.drain();
  const OperatorPtr known = runtime.resolve(args[0]);
  const Keywords keywords(*known, args + count, names, count - 1, true);
  const char* name = known->op.name().c_str();
  std::vector<PyObject*> objects(args + 1, args + count);
  const auto named = keywords.inputs();
  if (!named.empty() && keywords.out == nullptr)
    throw InvalidArgument(std::string(name) +
                          ": expected out= with inputs by name, got none");
  objects.insert(objects.end(), named.begin(), named.end());
  if (keywords.out != nullptr) objects.push_back(keywords.out);
  if (objects.empty() || objects.size() > kMaxArguments) {
    throw InvalidArgument(std::string(name) + ": expected 1 to " +
                          std::to_string(kMaxArguments) +
                          " columns, the last one for the results, got " +
                          std::to_string(objects.size()));
  }
  Arguments arguments(runtime);
  Columns columns(*known);
  ManyTasks& many = columns.many();
  if (keywords.sizes != nullptr) {
    read_addresses(many, objects, keywords, name);
  } else {
    read_arrays(columns, arguments, objects, name);
  }
  many.params.assign(keywords.params().begin(), keywords.params().end());
  const Stream stream = stream_from(keywords.stream);
  const Ticket ticket = interruptible([&] {
    return runtime.core().submit_many(keywords.target(), many, stream);
  });
  if (arguments.has_foreign()) arguments.keep_until(ticket);
  return ticket;
}

}  // namespace gpuos::python
