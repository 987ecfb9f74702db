// Traces fused functions: for a first call, and for a replacement, whose
// results must have equal forms.
#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "convert/array_view.h"
#include "fused/fused_object.h"
#include "gpuos/error.h"
#include "module/own_lock.h"
#include "module/python_module.h"
#include "values/value_object.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

/// Holds the stand-ins for the arguments of a structure while a function runs
/// on them. They are values, and numbers for scalars that the function asked
/// for.
class Stand {
 public:
  Stand(ProgramBuilder& builder, const KnownKey& key,
        const ExampleCall& example, const AskedScalars& asked, bool tells)
      : numbers(builder, example.numbers, asked, tells) {
    std::size_t object = 0;
    std::size_t scalar = 0;
    py::list all;
    const auto& words = key.words;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool is_named = words[i].kind == ArgumentKind::Keyword;
      const py::object name = is_named ? key.objects[object++] : py::object();
      if (is_named) ++i;
      const ArgumentWord& word = words[i];
      py::object value;
      if (word.kind == ArgumentKind::Static)
        value = key.objects[object++];
      else if (word.kind == ArgumentKind::Array)
        value = make_value(builder.input(word.dtype, word.rank));
      else
        value = numbers.next(word, example.scalars[scalar++]);
      if (is_named)
        keywords[name] = value;
      else
        all.append(value);
    }
    args = py::tuple(all);
  }

  TracedNumbers numbers;
  py::tuple args;
  py::dict keywords;
};

bool is_same(const Shape& shape, const TensorView& view) {
  return std::ranges::equal(shape, std::span(view.shape).first(view.dims));
}

/// Holds the parts of all functions that this thread traces now, the outermost
/// first.
thread_local std::vector<void*> tracing;

class Tracing {
 public:
  explicit Tracing(void* parts) { tracing.push_back(parts); }
  ~Tracing() { tracing.pop_back(); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

/// Names the function that this thread replaces.
thread_local const void* replaced_now = nullptr;

class Replacing {
 public:
  explicit Replacing(const void* fused)
      : before_(std::exchange(replaced_now, fused)) {}
  ~Replacing() { replaced_now = before_; }
  Replacing(const Replacing&) = delete;
  Replacing& operator=(const Replacing&) = delete;

 private:
  const void* before_;
};

/// Returns the form in which a function returns its arrays, with numbers for
/// the arrays.
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
                          ": expected results in the same containers as "
                          "before, got others");
}

/// Returns a dict of fused functions, or None, with other functions.
/// `function_for` returns the function of a key.
template <typename FunctionFor>
py::object each_replaced(const py::object& known, FunctionFor function_for) {
  if (known.is_none()) return known;
  py::object next = known.attr("copy")();
  for (const py::handle key : py::list(next))
    next[key] = next[key].attr("_replaced")(function_for(key));
  return next;
}

}  // namespace

void Fused::note_part() const {
  if (replaced_now == this)
    throw InvalidArgument("replace: " + name_ +
                          ": expected a function that does not call " + name_ +
                          " itself, got one that does");
  for (void* parts : tracing)
    static_cast<std::vector<Part>*>(parts)->push_back({version_, *version_});
}

namespace {

std::vector<py::object> owned(std::span<PyObject* const> objects) {
  std::vector<py::object> all;
  all.reserve(objects.size());
  for (PyObject* object : objects)
    all.push_back(py::reinterpret_borrow<py::object>(object));
  return all;
}

}  // namespace

ExampleCall::ExampleCall(const FusedCall& call)
    : numbers(owned(call.numbers())) {
  for (py::object& number : numbers)  // the caller may change an array
    if (is_ndarray(number.ptr())) number = number.attr("copy")();
  for (const TensorView& view : call.inputs())
    shapes.emplace_back(view.shape.begin(), view.shape.begin() + view.dims);
  for (PyObject* number : call.numbers())
    scalars.push_back(scalar_from(number));
}

bool Traced::answers_the_same(FusedCall& call) const {
  const std::size_t given = example.scalars.size();
  for (const std::uint32_t number : asked_scalars)
    if (number < given &&
        !example.scalars[number].is_same(call.scalars()[number]))
      return false;
  const bool are_same_shapes =
      !has_asked_shapes ||
      std::ranges::equal(example.shapes, call.inputs(),
                         [](const Shape& shape, const TensorView& view) {
                           return is_same(shape, view);
                         });
  if (!are_same_shapes || number_calls.empty()) return are_same_shapes;
  CallNumbers numbers(owned(call.numbers()));
  if (!numbers.compute(number_calls)) return false;
  call.add_scalars(numbers.scalars());
  return true;
}

std::unique_ptr<Traced> Fused::trace(const KnownKey& key,
                                     const ExampleCall& example,
                                     const py::object& function,
                                     std::vector<Part>& parts, bool is_strict,
                                     AskedScalars asked) const {
  // For each number that it asks for, the function begins again with that
  // number. It may have caught the exception.
  for (;;) {
    ProgramBuilder builder;
    builder.set_shapes(example.shapes, is_strict);
    const auto asks_more = [&, known = asked.size()] {
      for (const std::uint32_t number : builder.asked_scalars())
        asked.insert(number);
      return asked.size() != known;
    };
    try {
      const Tracing tracing(&parts);
      auto made = trace_once(builder, key, example, function, asked);
      if (!asks_more()) return made;
    } catch (const py::error_already_set& error) {
      const bool is_over = !error.matches(PyExc_Exception) &&
                           !error.matches(number_asked());  // Ctrl-C
      if (is_over || !asks_more()) throw;
    } catch (const Error&) {
      if (!asks_more()) throw;
    }
  }
}

std::unique_ptr<Traced> Fused::trace_once(
    ProgramBuilder& builder, const KnownKey& key, const ExampleCall& example,
    const py::object& function, const AskedScalars& asked, bool tells) const {
  Stand stand(builder, key, example, asked, tells);
  const py::tuple result = [&] {
    const WithoutLock to_others;
    return trace_(function, stand.args, stand.keywords);
  }();
  auto made = std::make_unique<Traced>(key, example);
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
  made->asked_scalars = stand.numbers.asked();
  made->has_asked_shapes = builder.has_told_shapes();
  made->more_scalars = stand.numbers.scalars();
  made->number_calls = stand.numbers.take_calls();
  made->has_asked = made->has_asked_shapes || !made->asked_scalars.empty() ||
                    !made->number_calls.empty();
  return made;
}

std::unique_ptr<Fused> Fused::replaced(py::object function) const {
  auto next = std::make_unique<Fused>(std::move(function), trace_, runtime_,
                                      name_, is_deferred_);
  // The loop uses indices, because a traced function may call this one, which
  // adds entries.
  for (std::size_t i = 0; i < traced_.size(); ++i) {
    // This is a copy, because code that runs meanwhile may drop the original.
    const Traced before = *traced_[i];
    next->traced_.push_back(
        trace(before.key, before.example, next->function_, next->parts_));
    check_same_results(name_, before, *next->traced_.back());
  }
  next->of_runtimes_ = each_replaced(
      of_runtimes_,
      [&](const py::handle& /*runtime*/) { return next->function_; });
  next->of_trees_ = each_replaced(of_trees_, [&](const py::handle& shape) {
    return python_module("gpuos.pytrees")
        .attr("of_leaves")(next->function_, name_, shape);
  });
  return next;
}

std::uint64_t Fused::replace(py::object function) {
  const Running running(*this, /*forgets=*/false);
  const std::unique_ptr<Fused> next = [&] {
    const Replacing now(this);
    return replaced(std::move(function));
  }();
  // Entries that other threads traced meanwhile belong to the version before.
  forget_traced();
  for (auto& traced : next->traced_) add(std::move(traced), {});
  last_ = nullptr;
  parts_ = std::move(next->parts_);
  ++replacements;
  seen_ = replacements;
  ++*version_;
  // Destroying these, with `next`, may run code that calls this object.
  std::swap(function_, next->function_);
  std::swap(of_runtimes_, next->of_runtimes_);
  std::swap(of_trees_, next->of_trees_);
  return *version_;
}

namespace {

/// Limits the programs that a function keeps. A number whose value decides
/// makes a new one for each value. Such a program would never be used again.
constexpr std::size_t kMostTraced = 256;
/// Sets how many programs cause a warning, because a function normally has
/// fewer.
constexpr std::size_t kManyTraced = 32;

/// Returns the scalar arguments whose values decided, also through results
/// computed of them.
AskedScalars deciding_scalars(const Traced& made) {
  const std::size_t count = made.example.numbers.size();
  AskedScalars found = made.asked_scalars;
  for (std::size_t i = made.number_calls.size(); i-- > 0;) {
    const NumberCall& call = made.number_calls[i];
    if (call.gives != NumberCall::Gives::Same &&
        !found.contains(static_cast<std::uint32_t>(count + i)))
      continue;
    for (const NumberCall::Operand& operand : call.operands)
      if (!operand.constant) found.insert(operand.number);
  }
  return found;
}

/// Returns the arguments whose values need a program of their own, as positions
/// or names. They are numbers that the function asked for, and objects that are
/// no arrays or numbers.
py::list deciding_arguments(const Traced& made) {
  const AskedScalars asked = deciding_scalars(made);
  py::list found;
  std::uint32_t scalars = 0;
  std::size_t object = 0;
  py::ssize_t position = 0;
  const auto& words = made.key.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    py::object label = py::int_(position++);
    if (words[i].kind == ArgumentKind::Keyword) {
      label = made.key.objects[object++];
      ++i;
    }
    const ArgumentKind kind = words[i].kind;
    const bool is_static = kind == ArgumentKind::Static;
    if (is_static) ++object;
    const bool is_scalar = !is_static && kind != ArgumentKind::Array;
    const bool is_asked = is_scalar && asked.contains(scalars++);
    if (is_asked || is_static) found.append(label);
  }
  return found;
}

}  // namespace

Traced& Fused::use(Traced& traced) {
  if (last_ == &traced) return traced;
  traced.used = ++uses_;
  return *(last_ = &traced);
}

void Fused::add(std::unique_ptr<Traced> made, std::span<const Part> parts) {
  if (traced_.size() == kMostTraced) forget_oldest();
  for (const Part& part : parts) {
    const bool is_known = std::ranges::any_of(parts_, [&](const Part& known) {
      return known.version == part.version && known.at == part.at;
    });
    if (!is_known) parts_.push_back(part);
  }
  made->next = std::exchange(by_hash_[made->key.hash], made.get());
  use(*traced_.emplace_back(std::move(made)));
}

void Fused::forget_oldest() {
  const auto oldest = std::ranges::min_element(
      traced_, {}, [](const auto& traced) { return traced->used; });
  const auto chain = by_hash_.find((*oldest)->key.hash);
  Traced** link = &chain->second;
  while (*link != oldest->get()) link = &(*link)->next;
  *link = (*oldest)->next;
  if (chain->second == nullptr) by_hash_.erase(chain);
  if (last_ == oldest->get()) last_ = nullptr;
  left_.push_back(std::move(*oldest));
  traced_.erase(oldest);
}

void Fused::warn_of_many(const Traced& made) {
  const bool is_many = traced_.size() >= kManyTraced && !is_deferred_;
  if (!is_many || has_warned_) return;
  const py::list deciding = deciding_arguments(made);
  if (deciding.empty() && !made.has_asked_shapes) return;
  has_warned_ = true;
  const py::object function = function_;
  py::object traceback;
  if (!made.asked_scalars.empty()) {  // traced again to find the line that asks
    ProgramBuilder builder;
    builder.set_shapes(made.example.shapes);
    try {
      trace_once(builder, made.key, made.example, function, {}, false);
    } catch (const py::error_already_set& error) {
      traceback = error.trace();
    } catch (const Error&) {
      traceback = py::none();  // then there is no line
    }
  }
  if (!traceback) traceback = py::none();
  const WithoutLock to_others;
  python_module("gpuos.tracing")
      .attr("warn_of_many")(function, name_, traced_.size(), kMostTraced,
                            deciding, made.has_asked_shapes, traceback);
}

void Fused::forget_traced() {
  by_hash_.clear();
  last_ = nullptr;
  std::ranges::move(traced_, std::back_inserter(left_));
  traced_.clear();
}

void Fused::forget_if_parts_were_replaced() {
  seen_ = replacements;
  const bool is_same = std::ranges::all_of(
      parts_, [](const Part& part) { return *part.version == part.at; });
  if (is_same) return;
  forget_traced();
  parts_.clear();
}

}  // namespace gpuos::python
