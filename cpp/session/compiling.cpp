#include "session/compiling.h"

#include <algorithm>
#include <exception>
#include <thread>

#include "gpuos/error.h"
#include "jit/compile_pool.h"
#include "jit/cuda_headers.h"
#include "jit/source_inputs.h"

namespace gpuos::session {

jit::Object Compiler::compile_one(const Source& source) const {
  jit::Unit unit{.source = source.text,
                 .file_name = source.cell,
                 .options = settings_.options,
                 .include_dirs = settings_.include_dirs,
                 .name_expressions = source.name_expressions};
  if (!jit::stands_alone(source.text)) {
    for (std::string& folder : jit::cuda_include_dirs(api_))
      unit.include_dirs.push_back(std::move(folder));
  }
  try {
    return jit::compile_unit(api_, unit, settings_.target);
  } catch (const CompileError& error) {
    jit::throw_with_header_hint(error, api_);
    throw;
  }
}

std::vector<jit::Object> Compiler::compile(std::span<const Source> sources) {
  std::vector<jit::Object> objects(sources.size());
  std::vector<std::exception_ptr> errors(sources.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < sources.size(); i = next++) {
      try {
        objects[i] = compile_one(sources[i]);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  const std::size_t threads = std::min(sources.size(), jit::compile_threads());
  {
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
  compiled_ += sources.size();
  return objects;
}

}  // namespace gpuos::session
