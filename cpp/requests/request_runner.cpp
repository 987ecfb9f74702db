#include <utility>

#include "base/processors.h"
#include "gpuos/runtime.h"
#include "requests/alias_analysis.h"
#include "requests/group_runner.h"
#include "requests/groups.h"
#include "requests/known_runs.h"
#include "requests/levels.h"

namespace gpuos {

class RequestRunner::Impl {
 public:
  explicit Impl(Runtime& of) : runtime(of), runner(of) {}

  Runtime& runtime;
  requests::RequestArrays arrays;
  requests::AliasAnalysis aliases;
  requests::Groups groups;
  requests::Levels levels;
  requests::GroupRunner runner;
  requests::KnownRuns known;
  std::uint64_t requests = 0;
  std::uint64_t runs = 0;
};

RequestRunner::RequestRunner(Runtime& runtime)
    : impl_(std::make_unique<Impl>(runtime)) {}

RequestRunner::~RequestRunner() = default;

void RequestRunner::run(std::span<const Request> requests,
                        std::span<const TensorView> views, StillNeeded needed,
                        Stream stream, bool owners_are_disjoint) {
  if (requests.empty()) return;
  Impl& impl = *impl_;
  impl.requests += requests.size();
  ++impl.runs;
  impl.arrays.begin(requests, views);
  impl.aliases.begin(impl.arrays, owners_are_disjoint);
  impl.runner.begin(impl.arrays, impl.aliases, impl.groups, needed, stream);
  if (owners_are_disjoint && !impl.aliases.are_independent()) {
    const requests::KnownRun* known =
        impl.known.find(impl.arrays, impl.aliases, needed);
    if (known != nullptr) return impl.runner.repeat(*known);
  }
  impl.aliases.finish(impl.arrays, owners_are_disjoint);
  if (impl.aliases.are_independent()) {
    impl.groups.clear();
    impl.runner.run_independent();
    impl.runner.finish();
    return;
  }
  const bool is_kept = owners_are_disjoint && impl.known.wants();
  if (is_kept) impl.runner.record();
  impl.groups.run(impl.arrays, impl.aliases);
  impl.levels.run(impl.arrays, impl.aliases, impl.groups);
  for (std::size_t level = 0; level < impl.levels.count(); ++level)
    impl.runner.run(impl.levels.at(level));
  impl.runner.finish();
  if (!is_kept) return;
  if (auto made = impl.runner.take_record()) impl.known.keep(std::move(*made));
}

RequestStats RequestRunner::stats() const {
  return {.requests = impl_->requests,
          .runs = impl_->runs,
          .tasks = impl_->runner.tasks(),
          .programs = impl_->runner.programs(),
          .unwritten = impl_->runner.unwritten(),
          .compiling = impl_->runtime.stats().programs_waiting};
}

std::uint32_t RequestRunner::processors() noexcept {
  return usable_processors();
}

}  // namespace gpuos
