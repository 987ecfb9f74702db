#include "fused_object.h"

#include <utility>

#include "fused_results.h"
#include "gpuos/error.h"
#include "stream.h"
#include "value_object.h"
#include "waiting.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

// What stands for the arguments of a call while the function runs on them.
class Stand {
 public:
  Stand(ProgramBuilder& builder, const FusedCall& call)
      : builder_(builder), call_(call) {}

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
        return make_value(builder_.scalar(word.dtype));
      case ArgumentKind::Number: {
        const Scalar& number = call_.scalars()[number_of_scalars_++];
        // A bool gives way to every dtype, as an array of bools does.
        return make_value(word.dtype == DType::Bool
                              ? builder_.scalar(DType::Bool)
                              : builder_.number(number));
      }
      default:
        return py::reinterpret_borrow<py::object>(object);
    }
  }
  std::span<const ArgumentWord> words() const { return call_.key().words(); }

  ProgramBuilder& builder_;
  const FusedCall& call_;
  std::size_t word_ = 0;
  std::size_t number_of_scalars_ = 0;
};

}  // namespace

Fused::Fused(py::object function, py::object trace, py::object runtime,
             std::string name)
    : function_(std::move(function)),
      trace_(std::move(trace)),
      runtime_(std::move(runtime)),
      name_(std::move(name)) {}

std::shared_ptr<RuntimeObject> Fused::runtime_for(const FusedCall& call) const {
  if (!runtime_.is_none()) return runtime_of(runtime_.ptr()).shared_from_this();
  if (auto found = call.find_runtime()) return found;
  throw InvalidArgument(name_ +
                        ": expected a gpuos.Array among the arguments, whose "
                        "runtime runs the program, got none; name one with "
                        "runtime=");
}

Traced* Fused::find(const CallKey& key) const {
  if (last_ != nullptr && last_->key.matches(key)) return last_;
  const auto found = by_hash_.find(key.hash());
  Traced* at = found == by_hash_.end() ? nullptr : found->second;
  while (at != nullptr && !at->key.matches(key)) at = at->next;
  return at;
}

std::unique_ptr<Traced> Fused::trace(const FusedCall& call) const {
  ProgramBuilder builder;
  Stand stand(builder, call);
  const py::tuple args = stand.args();
  const py::tuple result = trace_(function_, args, stand.keywords);
  for (const py::handle value : result[0])
    builder.output(value_of(value.ptr(), name_));
  auto made = std::make_unique<Traced>(call.key());
  made->program = builder.build();
  made->rebuild = result[1];
  return made;
}

Traced& Fused::find_or_trace(const FusedCall& call) {
  if (Traced* known = find(call.key())) return *(last_ = known);
  std::unique_ptr<Traced> made = trace(call);
  // Another thread may have traced the same meanwhile.
  if (Traced* known = find(call.key())) return *(last_ = known);
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
  const std::shared_ptr<RuntimeObject> runtime = runtime_for(call);
  runtime->drain();
  Arguments arguments(*runtime);
  call.read(arguments);
  return submit(find_or_trace(call), call, arguments, *runtime);
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
  const std::shared_ptr<RuntimeObject> runtime = runtime_for(call);
  Arguments arguments(*runtime);
  call.read(arguments);
  return find_or_trace(call).program;
}

Program Fused::compile(PyObject* const* args, std::size_t count,
                       PyObject* names) {
  FusedCall call(name_.c_str(), args, count, names);
  const std::shared_ptr<RuntimeObject> runtime = runtime_for(call);
  Arguments arguments(*runtime);
  call.read(arguments);
  Program program = find_or_trace(call).program;
  runtime->compile(program, Deadline::never());
  return program;
}

std::vector<Program> Fused::programs() const {
  std::vector<Program> all;
  for (const auto& traced : traced_) all.push_back(traced->program);
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
}

}  // namespace gpuos::python
