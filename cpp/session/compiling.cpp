#include "session/compiling.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <future>

#include "base/interruptible.h"
#include "gpuos/error.h"
#include "gpuos/interrupt.h"
#include "jit/compile_pool.h"
#include "jit/cuda_headers.h"
#include "jit/source_inputs.h"

namespace gpuos::session {
namespace {

// Calls `work` in `threads` threads, including the caller's. An interrupt of
// the caller interrupts the others too.
template <typename Work>
void run_beside(std::size_t threads, const Work& work) {
  std::atomic<bool> stops = false;
  const auto work_aside = [&] {
    const Interrupt interrupt(
        [](void* flag) noexcept {
          return static_cast<std::atomic<bool>*>(flag)->load();
        },
        &stops);
    work();
  };
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < threads; ++i) {
    others.push_back(is_interruptible()
                         ? std::async(std::launch::async, work_aside)
                         : std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) {
    while (other.wait_for(Interrupt::kPeriod) != std::future_status::ready)
      stops = Interrupt::is_asked_for();
  }
}

}  // namespace

jit::Object Compiler::compile_one(const Source& source) const {
  jit::Unit unit{.source = source.text,
                 .file_name = source.cell,
                 .options = settings_.options,
                 .include_dirs = settings_.include_dirs,
                 .name_expressions = source.name_expressions};
  if (!jit::stands_alone(source.text))
    jit::add_cuda_headers(api_, unit.include_dirs, unit.headers);
  try {
    return jit::compile_unit(api_, unit, settings_.target);
  } catch (const CompileError& error) {
    jit::throw_with_header_hint(error, api_);
    throw;
  }
}

void Compiler::add_include_dir(const std::string& dir) {
  std::vector<std::string>& dirs = settings_.include_dirs;
  if (std::ranges::find(dirs, dir) == dirs.end()) dirs.push_back(dir);
}

std::vector<jit::Object> Compiler::compile(std::span<const Source> sources) {
  std::vector<jit::Object> objects(sources.size());
  std::vector<std::exception_ptr> errors(sources.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        Interrupt::check("compile");
        objects[i] = compile_one(sources[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  run_beside(std::min(sources.size(), jit::compile_threads()), work);
  Interrupt::check("compile");
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  compiled_ += sources.size();
  return objects;
}

}  // namespace gpuos::session
