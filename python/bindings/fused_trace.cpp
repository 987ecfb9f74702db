// Tracing of fused functions: for a first call, and for a replacement, which
// must give what is given.
#include <algorithm>
#include <complex>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "fused_object.h"
#include "fused_running.h"
#include "gpuos/error.h"
#include "python_module.h"
#include "value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

/// What stands for the arguments of a structure while a function runs on them.
class Stand {
 public:
  Stand(ProgramBuilder& builder, const KnownKey& key) {
    std::size_t object = 0;
    py::list all;
    const auto& words = key.words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_named = words[i].kind == ArgumentKind::Keyword;
      const py::object name = is_named ? key.objects[object++] : py::object();
      if (is_named) ++i;
      const py::object value = words[i].kind == ArgumentKind::Static
                                   ? key.objects[object++]
                                   : make_value(value_for(builder, words[i]));
      if (is_named)
        keywords[name] = value;
      else
        all.append(value);
    }
    args = py::tuple(all);
  }

  py::tuple args;
  py::dict keywords;

 private:
  static Value value_for(ProgramBuilder& builder, const ArgumentWord& word) {
    if (word.kind == ArgumentKind::Array)
      return builder.input(word.dtype, word.rank);
    // A bool gives way to every dtype, as an array of bools does.
    if (word.kind == ArgumentKind::Scalar || word.dtype == DType::Bool)
      return builder.scalar(word.dtype);
    if (word.dtype == DType::Int64) return builder.number(0);
    if (word.dtype == DType::Float64) return builder.number(0.0);
    return builder.number(std::complex<float>());
  }
};

/// What is traced at this moment, by this thread, inside one another.
thread_local std::vector<void*> tracing;

class Tracing {
 public:
  explicit Tracing(void* parts) { tracing.push_back(parts); }
  ~Tracing() { tracing.pop_back(); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

/// What a function's arrays are put together to, told by their numbers.
py::object form_of(const Traced& traced) {
  if (traced.rebuild.is_none()) return py::none();
  py::list numbers;
  for (std::size_t i = 0; i < traced.program.outputs().size(); ++i)
    numbers.append(i);
  const py::object form = traced.rebuild(py::tuple(numbers));
  return py::make_tuple(py::type::of(form), form);
}

std::string text_of(const Traced& traced) {
  std::string text;
  for (const ProgramArgument& output : traced.program.outputs())
    text += (text.empty() ? "" : ", ") + std::string(name_of(output.dtype)) +
            " with " + std::to_string(output.rank) + " axes";
  return text;
}

void check_same_results(const std::string& name, const Traced& known,
                        const Traced& next) {
  const auto& before = known.program.outputs();
  const auto& after = next.program.outputs();
  const bool is_same = std::ranges::equal(
      before, after, [](const ProgramArgument& a, const ProgramArgument& b) {
        return a.dtype == b.dtype && a.rank == b.rank;
      });
  if (!is_same)
    throw InvalidArgument("replace: " + name + ": expected results of " +
                          text_of(known) + ", got " + text_of(next));
  if (!form_of(known).equal(form_of(next)))
    throw InvalidArgument("replace: " + name +
                          ": expected results that are put together as "
                          "before, got others");
}

}  // namespace

void Fused::note_part() const {
  for (void* parts : tracing)
    static_cast<std::vector<Part>*>(parts)->push_back({version_, *version_});
}

std::unique_ptr<Traced> Fused::trace(KnownKey key, const py::object& function,
                                     std::vector<Part>& parts) const {
  ProgramBuilder builder;
  const Stand stand(builder, key);
  const Tracing tracing(&parts);
  const py::tuple result = trace_(function, stand.args, stand.keywords);
  auto made = std::make_unique<Traced>(std::move(key));
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
  return made;
}

Fused::AllTraced Fused::trace_all(const py::object& function,
                                  std::vector<Part>& parts) const {
  AllTraced all;
  // By number: a function that is traced may call this one, which adds to them.
  for (std::size_t i = 0; i < traced_.size(); ++i) {
    all.push_back(trace(traced_[i]->key, function, parts));
    check_same_results(name_, *traced_[i], *all.back());
  }
  return all;
}

void Fused::check_gives_the_same(const py::object& function) const {
  std::vector<Part> parts;
  trace_all(function, parts);
}

std::uint64_t Fused::replace(py::object function) {
  const Running running(*this);
  std::vector<Part> parts;
  AllTraced next = trace_all(function, parts);
  if (!of_runtimes_.is_none())
    for (const py::handle each : of_runtimes_.attr("values")())
      each.attr("_check_gives_the_same")(function);
  if (!of_trees_.is_none()) {
    const auto of_leaves = python_module("gpuos.trees").attr("of_leaves");
    for (const auto& [shape, each] : of_trees_.cast<py::dict>())
      each.attr("_check_gives_the_same")(of_leaves(function, name_, shape));
  }
  // What others trace while this runs is of the version before.
  forget_traced();
  traced_ = std::move(next);
  for (const auto& traced : traced_)
    traced->next = std::exchange(by_hash_[traced->key.hash], traced.get());
  parts_ = std::move(parts);
  ++replacements_;
  seen_ = replacements_;
  ++*version_;
  // Letting go may run code that comes back here.
  const py::object before = std::exchange(function_, std::move(function));
  const py::object of_runtimes = std::exchange(of_runtimes_, py::none());
  const py::object of_trees = std::exchange(of_trees_, py::none());
  return *version_;
}

void Fused::forget_traced() {
  by_hash_.clear();
  last_ = nullptr;
  std::ranges::move(traced_, std::back_inserter(left_));
  traced_.clear();
}

void Fused::forget_if_parts_were_replaced() {
  seen_ = replacements_;
  const bool is_same = std::ranges::all_of(
      parts_, [](const Part& part) { return *part.version == part.at; });
  if (is_same) return;
  forget_traced();
  parts_.clear();
  of_runtimes_ = py::none();
  of_trees_ = py::none();
}

}  // namespace gpuos::python
