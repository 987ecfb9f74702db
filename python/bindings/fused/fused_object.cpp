#include "fused/fused_object.h"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "arrays/array.h"
#include "arrays/array_shape.h"
#include "arrays/deferred.h"
#include "convert/native.h"
#include "convert/reading.h"
#include "gpuos/error.h"
#include "gpuos/requests.h"
#include "module/own_lock.h"
#include "module/pybind_objects.h"
#include "module/python_module.h"
#include "runtime/waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// Holds the arrays that one call of a fused function writes.
struct FusedResults {
  template <typename MakeView>
  void add(MakeView make_view, py::object array) {
    views.add(make_view);
    arrays[count++] = std::move(array);
  }
  // Takes arrays of the caller: one, or a tuple or list with all of them.
  // Throws: InvalidArgument.
  void take(const char* name, std::size_t wanted, PyObject* out,
            Arguments& arguments);
  // Makes new arrays.
  void make(const std::vector<TensorView>& forms, RuntimeObject& runtime);
  // Returns the arrays in the form of the Python function's result.
  py::object returned_by(const TracedFunction& traced);

  InlineVector<TensorView, kMaxFusedResults> views;
  std::size_t count = 0;
  std::array<py::object, kMaxFusedResults> arrays;
};

void FusedResults::take(const char* name, std::size_t wanted, PyObject* out,
                        Arguments& arguments) {
  const bool is_sequence = PyTuple_Check(out) || PyList_Check(out);
  const py::tuple many = is_sequence ? items_of(out, "out") : py::tuple();
  const std::size_t given = is_sequence ? many.size() : 1;
  if (given != wanted)
    throw InvalidArgument(std::string(name) + ": out: expected " +
                          std::to_string(wanted) + " arrays, got " +
                          std::to_string(given));
  if (is_sequence) arguments.hold(many);
  for (std::size_t i = 0; i < given; ++i) {
    PyObject* array =
        is_sequence ? PyTuple_GET_ITEM(many.ptr(), static_cast<Py_ssize_t>(i))
                    : out;
    add([&] { return arguments.out_view(array, {name, -1}); },
        py::reinterpret_borrow<py::object>(array));
  }
}

void FusedResults::make(const std::vector<TensorView>& forms,
                        RuntimeObject& runtime) {
  for (const TensorView& form : forms) {
    py::object array = Array::make_result(runtime, form);
    // No other code has the array before this returns.
    const Borrow borrow(*native<Array>(array.ptr()));
    add([&] { return borrow.view(); }, array);
  }
}

py::object FusedResults::returned_by(const TracedFunction& traced) {
  if (traced.rebuild == nullptr) return std::move(arrays[0]);
  py::tuple all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = std::move(arrays[i]);
  if (traced.rebuild.get() == &PyTuple_Type) return all;
  return object_of(traced.rebuild)(all);
}

}  // namespace

Fused::Fused(py::object function, py::object trace, py::object runtime,
             std::string name, bool is_deferred)
    : function_(std::move(function)),
      trace_(std::move(trace)),
      runtime_(std::move(runtime)),
      is_deferred_(is_deferred),
      traces_(std::move(name), kMostTraced, &kPythonObjects) {}

std::shared_ptr<RuntimeObject> Fused::runtime_for(const FusedCall& call) const {
  if (!runtime_.is_none()) return runtime_of(runtime_.ptr()).shared_from_this();
  return call.find_runtime();
}

py::object Fused::call_others(const char* method, PyObject* const* args,
                              std::size_t count, PyObject* names) {
  if (others_.is_none()) {
    const py::object made =
        python_module("gpuos.fused_others").attr("Others")();
    if (others_.is_none()) others_ = made;  // no other thread was quicker
  }
  py::tuple positional(count);
  for (std::size_t i = 0; i < count; ++i)
    positional[i] = py::reinterpret_borrow<py::object>(args[i]);
  py::dict keywords;
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; i < named; ++i)
    keywords[py::handle(PyTuple_GET_ITEM(names, i))] =
        py::handle(args[count + static_cast<std::size_t>(i)]);
  const py::object others = others_;
  const py::object function = function_;
  const WithoutLock to_others;
  return others.attr("call")(function, runtime_, traces_.name(), method,
                             positional, keywords);
}

template <typename Body>
auto Fused::explained(const FusedCall& call, Body body) {
  try {
    return body();
  } catch (const InvalidArgument&) {
    traces_.explain(call, *this);
    throw;
  }
}

namespace {

/// Counts the fused functions that call each other while one is traced.
class Nested {
 public:
  /// Throws: RecursionError, before the thread's stack ends. Python's own limit
  /// comes too late for that.
  explicit Nested(const std::string& name) {
    if (depth == kMost) {
      PyErr_Format(PyExc_RecursionError,
                   "%s: expected fused functions that call each other at most "
                   "%d deep, and none that calls itself",
                   name.c_str(), kMost);
      throw py::error_already_set();
    }
    ++depth;
  }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  ~Nested() { --depth; }

 private:
  static constexpr int kMost = 64;
  static inline thread_local int depth = 0;
};

}  // namespace

py::object Fused::call(PyObject* const* args, std::size_t count,
                       PyObject* names) {
  const TraceCache::Running running(traces_);
  FusedCall call(traces_.name().c_str(), args, count, names);
  if (call.is_traced()) {
    const Nested nested(traces_.name());
    traces_.note_part();
    // This holds the function, because another thread may replace it.
    const py::object function = function_;
    const WithoutLock to_others;
    return py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(function.ptr(), args, count, names));
  }
  if (call.has_container()) {
    traces_.note_part();
    return call_others("__call__", args, count, names);
  }
  if (is_deferred_) {
    if (py::object made = defer(args, count, names)) return made;
  }
  const std::shared_ptr<RuntimeObject> runtime = runtime_for(call);
  if (runtime == nullptr) return call_others(nullptr, args, count, names);
  runtime->run_deferred();
  runtime->drain();
  Arguments arguments(*runtime);
  call.read(arguments);
  TracedFunction& traced = traces_.find_or_trace(call, *this);
  return explained(call, [&] {
    try {
      return submit(traced, call, arguments, *runtime);
    } catch (const OutOfRange&) {
      if (traced.is_of_values()) throw;
    }
    return submit(traces_.find_or_trace_values(call, *this), call, arguments,
                  *runtime);
  });
}

py::object Fused::defer(PyObject* const* args, std::size_t count,
                        PyObject* names) {
  FusedCall call(traces_.name().c_str(), args, count, names);
  const std::shared_ptr<RuntimeObject> runtime = call.find_runtime();
  if (runtime == nullptr || !call.read_forms(*runtime)) return {};
  TracedFunction& traced = traces_.find_or_trace(call, *this);
  const std::size_t operands = call.arrays().size() + call.scalars().size();
  if (traced.rebuild != nullptr || operands > kMaxRequestOperands) return {};
  const auto forms =
      explained(call, [&] { return traced.output_forms(call.inputs()); });
  if (forms->front().size() == 0) return {};
  return runtime->deferred().defer(*runtime, traced.function(), forms->front(),
                                   call.arrays(), call.scalars());
}

py::object Fused::submit(TracedFunction& traced, const FusedCall& call,
                         Arguments& arguments, RuntimeObject& runtime) const {
  FusedResults results;
  if (call.out != nullptr) {
    results.take(traces_.name().c_str(), traced.program().outputs().size(),
                 call.out, arguments);
  } else {
    // The allocation may wait for memory, and another call may bring other
    // shapes then.
    const auto forms = traced.output_forms(call.inputs());
    results.make(*forms, runtime);
  }
  const Stream stream = stream_from(call.stream);
  const Ticket ticket = interruptible([&] {
    return runtime.core().submit(traced.program(), call.inputs(),
                                 results.views.view(), call.scalars(), stream);
  });
  const bool has_foreign = arguments.has_foreign();
  if (has_foreign) arguments.keep_until(ticket);
  // Other readers and writers of that memory know the stream, but not the
  // tasks.
  if ((has_foreign || (is_deferred_ && call.has_exported())) &&
      call.stream == Py_None)
    runtime.wait(ticket, Deadline::never());
  return results.returned_by(traced);
}

template <typename Body>
auto Fused::with_traced(PyObject* const* args, std::size_t count,
                        PyObject* names, Body body) {
  const TraceCache::Running running(traces_);
  FusedCall call(traces_.name().c_str(), args, count, names);
  const std::shared_ptr<RuntimeObject> runtime = runtime_for(call);
  if (runtime == nullptr)
    throw InvalidArgument(traces_.name() +
                          ": expected a gpuos.Array among the arguments, whose "
                          "runtime runs the program, got none; name one with "
                          "runtime=");
  Arguments arguments(*runtime);
  call.read(arguments);
  return body(call, traces_.find_or_trace(call, *this), *runtime);
}

Program Fused::warm(PyObject* const* args, std::size_t count, PyObject* names,
                    bool compiles) {
  if (FusedCall(traces_.name().c_str(), args, count, names).has_container())
    return call_others(compiles ? "compile" : "warm", args, count, names)
        .cast<Program>();
  return with_traced(
      args, count, names,
      [&](FusedCall&, TracedFunction& traced, RuntimeObject& runtime) {
        Program program = traced.program();
        if (compiles) runtime.compile(program, Deadline::never());
        return program;
      });
}

py::tuple Fused::forms(PyObject* const* args, std::size_t count,
                       PyObject* names) {
  return with_traced(
      args, count, names,
      [&](FusedCall& call, TracedFunction& traced, RuntimeObject&) {
        py::list all;
        const auto forms =
            explained(call, [&] { return traced.output_forms(call.inputs()); });
        for (const TensorView& form : *forms)
          all.append(
              py::make_tuple(shape_of(form), std::string(name_of(form.dtype))));
        return py::make_tuple(
            all, traced.rebuild ? object_of(traced.rebuild) : py::none());
      });
}

std::vector<Program> Fused::programs() const {
  std::vector<Program> all;
  for (const auto& traced : traces_.all()) all.push_back(traced->program());
  if (others_.is_none()) return all;
  const py::object others = others_.attr("programs")();
  for (const py::handle program : others)
    all.push_back(program.cast<Program>());
  return all;
}

std::string Fused::repr() const {
  return "gpuos.Fused('" + traces_.name() +
         "', programs=" + std::to_string(traces_.all().size()) + ")";
}

void Fused::clear() {
  // Releasing the objects may run code that calls this object.
  traces_.clear();
  const py::object function = std::exchange(function_, py::none());
  const py::object trace = std::exchange(trace_, py::none());
  const py::object runtime = std::exchange(runtime_, py::none());
  const py::object others = std::exchange(others_, py::none());
}

}  // namespace gpuos::python
