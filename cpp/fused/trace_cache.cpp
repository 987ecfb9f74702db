#include <algorithm>
#include <iterator>
#include <string>

#include "base/concat.h"
#include "gpuos/error.h"
#include "gpuos/fused.h"

namespace gpuos {
namespace {

/// Counts how often a function was replaced. No memory order depends on it.
std::atomic<std::uint64_t> replacements{0};

/// Holds the parts of all functions that this thread traces now, the outermost
/// first.
thread_local std::vector<std::vector<FusedPart>*> tracing;

class Tracing {
 public:
  explicit Tracing(std::vector<FusedPart>& parts) { tracing.push_back(&parts); }
  ~Tracing() { tracing.pop_back(); }
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;
};

/// Names the function that this thread replaces.
thread_local const TraceCache* replaced_now = nullptr;

std::string text_of(const Program& program) {
  std::string text;
  for (const ProgramArgument& output : program.outputs())
    text += concat(text.empty() ? "" : ", ", name_of(output.dtype), " with ",
                   output.rank, " axes");
  return text;
}

}  // namespace

TraceCache::Replacing::Replacing(const TraceCache& cache) noexcept
    : before_(std::exchange(replaced_now, &cache)) {}

TraceCache::Replacing::~Replacing() { replaced_now = before_; }

TraceCache::TraceCache(std::string name, std::size_t most,
                       const ForeignObjects* foreign)
    : name_(std::move(name)),
      most_(most),
      foreign_(foreign),
      replacements_(replacements),
      seen_(replacements) {}

TracedFunction* TraceCache::find(CallArguments& call, bool is_of_values) const {
  const std::uint64_t hash = call.key().hash();
  const auto fits = [&](const TracedFunction& traced) {
    return traced.call.hash == hash &&
           (traced.is_of_values_ || !is_of_values) &&
           traced.serves(call, foreign_);
  };
  // serves() may run code of users that calls this object and changes last_.
  TracedFunction* const last = last_;
  if (last != nullptr && fits(*last)) return last;
  const auto found = by_hash_.find(hash);
  TracedFunction* at = found == by_hash_.end() ? nullptr : found->second;
  while (at != nullptr && !fits(*at)) at = at->next_;
  return at;
}

TracedFunction& TraceCache::find_or_trace(CallArguments& call,
                                          FunctionTracer& tracer,
                                          bool is_of_values) {
  call.set_more_scalars({});
  if (TracedFunction* known = find(call, is_of_values)) return use(*known);
  AskedScalars asked;
  for (std::uint32_t i = 0; is_of_values && i < call.numbers().size(); ++i)
    asked.insert(i);
  const std::uint64_t version = *version_;
  auto made = trace(KnownCall(call, foreign_), tracer, std::move(asked));
  made->is_of_values_ = is_of_values;
  // Another thread may have traced an equal structure meanwhile, or replaced
  // the function.
  TracedFunction* const known = find(call, is_of_values);
  if (version != *version_) return find_or_trace(call, tracer, is_of_values);
  if (known != nullptr) return use(*known);
  call.set_more_scalars(made->more_scalars);
  add(made);
  tracer.added(*made);
  return *made;
}

void TraceCache::explain(const CallArguments& call,
                         FunctionTracer& tracer) const {
  trace(KnownCall(call, foreign_), tracer, {}, /*is_strict=*/true);
}

std::shared_ptr<TracedFunction> TraceCache::trace(const KnownCall& call,
                                                  FunctionTracer& tracer,
                                                  AskedScalars asked,
                                                  bool is_strict) const {
  // For each number that it asks for, the function begins again with that
  // number. It may have caught the exception.
  for (;;) {
    ProgramBuilder builder;
    builder.set_shapes(call.shapes, is_strict);
    auto made = std::make_shared<TracedFunction>(call, asked);
    const auto asks_more = [&, known = asked.size()] {
      for (const std::uint32_t number : builder.asked_scalars())
        asked.insert(number);
      return asked.size() != known;
    };
    try {
      const Tracing now(made->parts_);
      const std::vector<Value> results = tracer.run(builder, *made);
      if (results.size() > kMaxFusedResults)
        throw InvalidArgument(concat(name_, ": expected at most ",
                                     kMaxFusedResults, " results, got ",
                                     results.size()));
      for (const Value& result : results) builder.output(result);
      Program program = builder.build();
      made->function_ = std::make_shared<const ProgramFunction>(
          std::move(program), results.front());
    } catch (...) {
      if (tracer.is_over(std::current_exception()) || !asks_more()) throw;
      continue;
    }
    if (asks_more()) continue;
    made->has_asked_shapes_ = builder.has_told_shapes();
    made->is_plain_ = made->call.objects.empty() && made->asked.empty() &&
                      made->steps.empty() && !made->has_asked_shapes_;
    return made;
  }
}

TracedFunction& TraceCache::use(TracedFunction& traced) {
  if (last_ == &traced) return traced;
  traced.used_ = ++uses_;
  return *(last_ = &traced);
}

void TraceCache::add(std::shared_ptr<TracedFunction> made) {
  if (traced_.size() == most_) forget_oldest();
  for (const FusedPart& part : made->parts_)
    if (std::ranges::find(parts_, part) == parts_.end()) parts_.push_back(part);
  made->next_ = std::exchange(by_hash_[made->call.hash], made.get());
  use(*traced_.emplace_back(std::move(made)));
}

void TraceCache::forget_oldest() {
  const auto oldest = std::ranges::min_element(
      traced_, {}, [](const auto& traced) { return traced->used_; });
  const auto chain = by_hash_.find((*oldest)->call.hash);
  TracedFunction** link = &chain->second;
  while (*link != oldest->get()) link = &(*link)->next_;
  *link = (*oldest)->next_;
  if (chain->second == nullptr) by_hash_.erase(chain);
  if (last_ == oldest->get()) last_ = nullptr;
  left_.push_back(std::move(*oldest));
  traced_.erase(oldest);
}

void TraceCache::forget_traced() {
  by_hash_.clear();
  last_ = nullptr;
  std::ranges::move(traced_, std::back_inserter(left_));
  traced_.clear();
}

void TraceCache::forget_if_parts_were_replaced() {
  seen_ = replacements;
  const bool is_same = std::ranges::all_of(
      parts_, [](const FusedPart& part) { return *part.version == part.at; });
  if (is_same) return;
  forget_traced();
  parts_.clear();
}

void TraceCache::note_part() const {
  if (replaced_now == this)
    throw InvalidArgument(concat("replace: ", name_,
                                 ": expected a function that does not call ",
                                 name_, " itself, got one that does"));
  for (std::vector<FusedPart>* parts : tracing)
    parts->push_back({version_, *version_});
}

void TraceCache::trace_as(const TraceCache& other, FunctionTracer& tracer) {
  // The loop uses indices, because a traced function may call that of `other`,
  // which adds entries.
  for (std::size_t i = 0; i < other.traced_.size(); ++i) {
    // Code that runs meanwhile may drop it.
    const std::shared_ptr<TracedFunction> before = other.traced_[i];
    const auto made = trace(before->call, tracer);
    if (made->program().outputs() != before->program().outputs())
      throw InvalidArgument(concat("replace: ", name_, ": expected results of ",
                                   text_of(before->program()), ", got ",
                                   text_of(made->program())));
    tracer.check_form(*before, *made);
    add(made);
  }
}

std::uint64_t TraceCache::replace(TraceCache& next) {
  // Entries that other threads traced meanwhile belong to the version before.
  forget_traced();
  parts_.clear();
  for (auto& traced : next.traced_) add(std::move(traced));
  last_ = nullptr;
  next.clear();
  seen_ = ++replacements;
  return ++*version_;
}

void TraceCache::clear() {
  forget_traced();
  // Releasing the programs may run code that calls this object.
  const AllTraced dropped = std::exchange(left_, {});
}

}  // namespace gpuos
