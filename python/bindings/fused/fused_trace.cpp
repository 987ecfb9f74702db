// Runs the functions that fuse() traces, and replaces them.
#include <string>
#include <utility>
#include <vector>

#include "fused/fused_object.h"
#include "gpuos/error.h"
#include "module/own_lock.h"
#include "module/python_module.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

/// Returns the form in which a function returns its arrays, with numbers for
/// the arrays.
py::object form_of(const TracedFunction& traced) {
  if (traced.rebuild == nullptr) return py::none();
  py::list numbers;
  for (std::size_t i = 0; i < traced.program().outputs().size(); ++i)
    numbers.append(i);
  const py::object form = object_of(traced.rebuild)(py::tuple(numbers));
  return py::make_tuple(py::type::of(form), form);
}

}  // namespace

std::vector<Value> Fused::run(ProgramBuilder& builder, TracedFunction& made,
                              bool tells) const {
  PythonNumbers numbers(builder, made, tells);
  auto object = made.call.objects.begin();
  py::list args;
  py::dict keywords;
  py::object name;  // of the next argument, or null
  for (const ArgumentWord& word : made.call.words) {
    if (word.kind == ArgumentKind::Keyword) {
      name = object_of(*object++);
      continue;
    }
    const py::object value =
        word.kind == ArgumentKind::Static ? object_of(*object++)
        : word.kind == ArgumentKind::Array
            ? make_value(builder.input(word.dtype, word.rank))
            : numbers.next(word);
    if (name)
      keywords[std::exchange(name, {})] = value;
    else
      args.append(value);
  }
  const py::tuple result = [&] {
    const py::object function = function_;  // another thread may replace it
    const WithoutLock to_others;
    return trace_(function, py::tuple(args), keywords);
  }();
  std::vector<Value> values;
  for (const py::handle value : result[0])
    values.push_back(value_of(value.ptr(), traces_.name()));
  if (!result[1].is_none()) made.rebuild = held(result[1]);
  return values;
}

bool Fused::is_over(const std::exception_ptr& thrown) const {
  try {
    std::rethrow_exception(thrown);
  } catch (const py::error_already_set& error) {
    return !error.matches(PyExc_Exception) &&
           !error.matches(number_asked());  // Ctrl-C
  } catch (const Error&) {
    return false;
  }
  return true;
}

void Fused::check_form(const TracedFunction& before,
                       const TracedFunction& made) {
  if (!form_of(before).equal(form_of(made)))
    throw InvalidArgument("replace: " + traces_.name() +
                          ": expected results in the same containers as "
                          "before, got others");
}

std::unique_ptr<Fused> Fused::replaced(py::object function) const {
  auto next = std::make_unique<Fused>(std::move(function), trace_, runtime_,
                                      traces_.name(), is_deferred_);
  next->traces_.trace_as(traces_, *next);
  if (!others_.is_none())
    next->others_ = others_.attr("replaced")(next->function_, traces_.name());
  return next;
}

std::uint64_t Fused::replace(py::object function) {
  const TraceCache::Running running(traces_, /*forgets=*/false);
  const std::unique_ptr<Fused> next = [&] {
    const TraceCache::Replacing now(traces_);
    return replaced(std::move(function));
  }();
  traces_.replace(next->traces_);
  // Destroying these, with `next`, may run code that calls this object.
  std::swap(function_, next->function_);
  std::swap(others_, next->others_);
  return traces_.version();
}

void Fused::added(TracedFunction& made) {
  const bool is_many = traces_.all().size() >= kManyTraced && !is_deferred_;
  if (!is_many || has_warned_) return;
  py::list deciding;
  for (const auto& [position, name] : made.deciding_arguments())
    deciding.append(name == nullptr ? py::object(py::int_(position))
                                    : py::reinterpret_borrow<py::object>(
                                          static_cast<PyObject*>(name)));
  if (deciding.empty() && !made.has_asked_shapes()) return;
  has_warned_ = true;
  const py::object function = function_;
  py::object traceback = py::none();
  if (!made.asked.empty()) {  // traced again to find the line that asks
    ProgramBuilder builder;
    builder.set_shapes(made.call.shapes);
    TracedFunction again(made.call, {});
    try {
      run(builder, again, /*tells=*/false);
    } catch (const py::error_already_set& error) {
      if (error.trace()) traceback = error.trace();
    } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
      // Then there is no line.
    }
  }
  const WithoutLock to_others;
  python_module("gpuos.tracing")
      .attr("warn_of_many")(function, traces_.name(), traces_.all().size(),
                            kMostTraced, deciding, made.has_asked_shapes(),
                            traceback);
}

}  // namespace gpuos::python
