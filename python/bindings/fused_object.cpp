#include "fused_object.h"

#include <set>
#include <utility>

#include "array_shape.h"
#include "deferred.h"
#include "fused_results.h"
#include "gpuos/error.h"
#include "python_module.h"
#include "stream.h"
#include "value_object.h"
#include "waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// What stands for the arguments of a call while the function runs on them:
// values, and for scalars that it asked for their numbers.
class Stand {
 public:
  Stand(ProgramBuilder& builder, const FusedCall& call,
        const AskedScalars& asked)
      : builder_(builder), call_(call), asked_(asked) {}

  /// The positional arguments.
  py::tuple args() {
    py::list all;
    for (const FusedCall::Item& item : call_.items()) {
      py::object value = next(item.value);
      if (item.name == nullptr)
        all.append(value);
      else
        keywords[py::handle(item.name)] = value;
    }
    return py::tuple(all);
  }

  py::dict keywords;

 private:
  py::object next(PyObject* object) {
    if (words()[word_].kind == ArgumentKind::Keyword) ++word_;
    const ArgumentWord word = words()[word_++];
    switch (word.kind) {
      case ArgumentKind::Array:
        return make_value(builder_.input(word.dtype, word.rank));
      case ArgumentKind::Scalar:
      case ArgumentKind::Number: {
        const std::uint32_t number = number_of_scalars_++;
        const Value value = scalar(word, call_.scalars()[number]);
        if (asked_.contains(number))
          return py::reinterpret_borrow<py::object>(object);
        return make_value(value);
      }
      default:
        return py::reinterpret_borrow<py::object>(object);
    }
  }
  Value scalar(ArgumentWord word, const Scalar& number) {
    // A bool gives way to every dtype, as an array of bools does.
    const bool is_weak =
        word.kind == ArgumentKind::Number && word.dtype != DType::Bool;
    return is_weak ? builder_.number(number) : builder_.scalar(word.dtype);
  }
  std::span<const ArgumentWord> words() const { return call_.key().words(); }

  ProgramBuilder& builder_;
  const FusedCall& call_;
  const AskedScalars& asked_;
  std::size_t word_ = 0;
  std::uint32_t number_of_scalars_ = 0;
};

std::vector<Shape> shapes_of(const FusedCall& call) {
  std::vector<Shape> shapes;
  for (const TensorView& view : call.inputs())
    shapes.emplace_back(view.shape.begin(), view.shape.begin() + view.dims);
  return shapes;
}

std::vector<std::int64_t> sizes_of(const FusedCall& call) {
  std::vector<std::int64_t> sizes;
  for (const TensorView& view : call.inputs())
    sizes.insert(sizes.end(), view.shape.begin(),
                 view.shape.begin() + view.dims);
  return sizes;
}

bool is_same(const Scalar& a, const Scalar& b) {
  if (a.is_integer() != b.is_integer() || a.is_complex() != b.is_complex() ||
      a.is_above_int64() != b.is_above_int64())
    return false;
  if (a.is_integer()) return a.integer() == b.integer();
  const DType dtype = a.is_complex() ? DType::Complex64 : DType::Float64;
  return a.bits_as(dtype) == b.bits_as(dtype);
}

struct PythonCall {
  PythonCall(PyObject* const* given, std::size_t count, PyObject* names)
      : args(count) {
    for (std::size_t i = 0; i < count; ++i)
      args[i] = py::reinterpret_borrow<py::object>(given[i]);
    const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
    for (Py_ssize_t i = 0; i < named; ++i)
      keywords[py::handle(PyTuple_GET_ITEM(names, i))] =
          py::handle(given[count + static_cast<std::size_t>(i)]);
  }

  py::tuple args;
  py::dict keywords;
};

}  // namespace

Fused::Fused(py::object function, py::object trace, py::object runtime,
             std::string name, bool is_deferred)
    : function_(std::move(function)),
      trace_(std::move(trace)),
      runtime_(std::move(runtime)),
      name_(std::move(name)),
      is_deferred_(is_deferred) {}

std::shared_ptr<RuntimeObject> Fused::runtime_for(const FusedCall& call) const {
  if (!runtime_.is_none()) return runtime_of(runtime_.ptr()).shared_from_this();
  return call.find_runtime();
}

std::shared_ptr<RuntimeObject> Fused::known_runtime_for(
    const FusedCall& call) const {
  if (auto found = runtime_for(call)) return found;
  throw InvalidArgument(name_ +
                        ": expected a gpuos.Array among the arguments, whose "
                        "runtime runs the program, got none; name one with "
                        "runtime=");
}

py::object Fused::call_foreign(PyObject* const* args, std::size_t count,
                               PyObject* names) {
  if (of_runtimes_.is_none()) of_runtimes_ = py::dict();
  const PythonCall call(args, count, names);
  return python_module("gpuos.foreign")
      .attr("call")(of_runtimes_, function_, name_, call.args, call.keywords);
}

py::object Fused::call_tree(const char* method, PyObject* const* args,
                            std::size_t count, PyObject* names) {
  if (of_trees_.is_none()) of_trees_ = py::dict();
  const PythonCall call(args, count, names);
  return python_module("gpuos.trees")
      .attr("call")(of_trees_, function_, runtime_, name_, method, call.args,
                    call.keywords);
}

bool Traced::serves(const FusedCall& call) const {
  if (!key.matches(call.key())) return false;
  for (const auto& [number, scalar] : asked_scalars)
    if (!is_same(scalar, call.scalars()[number])) return false;
  return !asked_sizes || *asked_sizes == sizes_of(call);
}

Traced* Fused::find(const FusedCall& call) const {
  if (last_ != nullptr && last_->serves(call)) return last_;
  const auto found = by_hash_.find(call.key().hash());
  Traced* at = found == by_hash_.end() ? nullptr : found->second;
  while (at != nullptr && !at->serves(call)) at = at->next;
  return at;
}

std::unique_ptr<Traced> Fused::trace(const FusedCall& call,
                                     bool is_strict) const {
  // For each number that it asks for the function begins again with it,
  // whatever it made of the exception.
  for (AskedScalars asked;;) {
    ProgramBuilder builder;
    builder.set_shapes(shapes_of(call), is_strict);
    const auto asks_more = [&, known = asked.size()] {
      for (const std::uint32_t number : builder.asked_scalars())
        asked.insert(number);
      return asked.size() != known;
    };
    try {
      auto made = trace(builder, call, asked);
      if (!asks_more()) return made;
    } catch (...) {
      if (!asks_more()) throw;
    }
  }
}

std::unique_ptr<Traced> Fused::trace(ProgramBuilder& builder,
                                     const FusedCall& call,
                                     const AskedScalars& asked) const {
  Stand stand(builder, call, asked);
  const py::tuple args = stand.args();
  const py::tuple result = trace_(function_, args, stand.keywords);
  auto made = std::make_unique<Traced>(call.key());
  if (py::len(result[0]) > kMaxFusedResults) {
    throw InvalidArgument(name_ + ": expected at most " +
                          std::to_string(kMaxFusedResults) + " results, got " +
                          std::to_string(py::len(result[0])));
  }
  for (const py::handle value : result[0]) {
    made->made = value_of(value.ptr(), name_);
    builder.output(made->made);
  }
  made->program = builder.build();
  made->rebuild = result[1];
  for (const std::uint32_t number : asked)
    made->asked_scalars.emplace_back(number, call.scalars()[number]);
  if (builder.has_told_shapes()) made->asked_sizes = sizes_of(call);
  return made;
}

template <typename Body>
auto Fused::explained(const FusedCall& call, Body body) const {
  try {
    return body();
  } catch (const InvalidArgument&) {
    trace(call, true);
    throw;
  }
}

Traced& Fused::find_or_trace(const FusedCall& call) {
  if (Traced* known = find(call)) return *(last_ = known);
  std::unique_ptr<Traced> made = trace(call);
  // Another thread may have traced the same meanwhile.
  if (Traced* known = find(call)) return *(last_ = known);
  last_ = made.get();
  last_->next = std::exchange(by_hash_[call.key().hash()], last_);
  return *traced_.emplace_back(std::move(made));
}

py::object Fused::call(PyObject* const* args, std::size_t count,
                       PyObject* names) {
  FusedCall call(name_.c_str(), args, count, names);
  if (call.is_traced()) {
    return py::reinterpret_steal<py::object>(
        PyObject_Vectorcall(function_.ptr(), args, count, names));
  }
  if (call.has_container()) return call_tree("__call__", args, count, names);
  if (is_deferred_) {
    if (py::object made = defer(args, count, names)) return made;
  }
  const std::shared_ptr<RuntimeObject> runtime = runtime_for(call);
  if (runtime == nullptr) return call_foreign(args, count, names);
  runtime->run_deferred();
  runtime->drain();
  Arguments arguments(*runtime);
  call.read(arguments);
  Traced& traced = find_or_trace(call);
  return explained(call,
                   [&] { return submit(traced, call, arguments, *runtime); });
}

py::object Fused::defer(PyObject* const* args, std::size_t count,
                        PyObject* names) {
  FusedCall call(name_.c_str(), args, count, names);
  const std::shared_ptr<RuntimeObject> runtime = call.find_runtime();
  if (runtime == nullptr || !call.read_forms(*runtime)) return {};
  Traced& traced = find_or_trace(call);
  if (!traced.rebuild.is_none()) return {};
  const auto forms =
      explained(call, [&] { return traced.output_forms(call.inputs()); });
  return runtime->deferred().defer(traced, forms->front(), call.arrays(),
                                   call.scalars());
}

py::object Fused::submit(Traced& traced, const FusedCall& call,
                         Arguments& arguments, RuntimeObject& runtime) const {
  FusedResults results(name_.c_str(), traced, runtime);
  if (call.out != nullptr) {
    results.take(call.out, arguments);
  } else {
    results.make(call.inputs());
  }
  const Stream stream = stream_from(call.stream);
  const Ticket ticket = interruptible([&] {
    return runtime.core().submit(traced.program, call.inputs(), results.views(),
                                 call.scalars(), stream);
  });
  if (arguments.has_foreign()) arguments.keep_until(ticket);
  return results.as_returned();
}

Program Fused::warm(PyObject* const* args, std::size_t count, PyObject* names) {
  FusedCall call(name_.c_str(), args, count, names);
  if (call.has_container())
    return call_tree("warm", args, count, names).cast<Program>();
  const std::shared_ptr<RuntimeObject> runtime = known_runtime_for(call);
  Arguments arguments(*runtime);
  call.read(arguments);
  return find_or_trace(call).program;
}

Program Fused::compile(PyObject* const* args, std::size_t count,
                       PyObject* names) {
  FusedCall call(name_.c_str(), args, count, names);
  if (call.has_container())
    return call_tree("compile", args, count, names).cast<Program>();
  const std::shared_ptr<RuntimeObject> runtime = known_runtime_for(call);
  Arguments arguments(*runtime);
  call.read(arguments);
  Program program = find_or_trace(call).program;
  runtime->compile(program, Deadline::never());
  return program;
}

py::tuple Fused::forms(PyObject* const* args, std::size_t count,
                       PyObject* names) {
  FusedCall call(name_.c_str(), args, count, names);
  const std::shared_ptr<RuntimeObject> runtime = known_runtime_for(call);
  Arguments arguments(*runtime);
  call.read(arguments);
  Traced& traced = find_or_trace(call);
  py::list all;
  const auto forms =
      explained(call, [&] { return traced.output_forms(call.inputs()); });
  for (const TensorView& form : *forms)
    all.append(
        py::make_tuple(shape_of(form), std::string(name_of(form.dtype))));
  return py::make_tuple(all, traced.rebuild);
}

std::vector<Program> Fused::programs() const {
  std::vector<Program> all;
  for (const auto& traced : traced_) all.push_back(traced->program);
  for (const py::object* others : {&of_runtimes_, &of_trees_}) {
    if (others->is_none()) continue;
    for (const py::handle other : others->attr("values")()) {
      for (const py::handle program : other.attr("programs")())
        all.push_back(program.cast<Program>());
    }
  }
  return all;
}

std::string Fused::repr() const {
  return "gpuos.Fused('" + name_ +
         "', programs=" + std::to_string(traced_.size()) + ")";
}

void Fused::clear() {
  // Letting go may run code that comes back here.
  by_hash_.clear();
  last_ = nullptr;
  const auto dropped = std::exchange(traced_, {});
  const py::object function = std::exchange(function_, py::none());
  const py::object trace = std::exchange(trace_, py::none());
  const py::object runtime = std::exchange(runtime_, py::none());
  const py::object of_runtimes = std::exchange(of_runtimes_, py::none());
  const py::object of_trees = std::exchange(of_trees_, py::none());
}

}  // namespace gpuos::python
