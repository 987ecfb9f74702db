#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpuos/jit_options.h"
#include "jit/toolkit/nvrtc_api.h"
#include "jit/toolkit/target.h"
#include "jit/unit_compiler.h"
#include "session/device/definitions.h"
#include "session/device/header.h"

namespace gpuos::session {

/// Holds one translation unit of a session.
struct Source {
  std::string text;
  std::string cell;
  std::vector<std::string> name_expressions{};
};

/// Holds how a session compiles.
struct CompilerSettings {
  jit::Target target;
  JitOptions options{};
  std::vector<std::string> include_dirs{};
};

/// Calls NVRTC with the options of one session.
///
/// Threads: any.
class Compiler {
 public:
  Compiler(const jit::Nvrtc& api, CompilerSettings settings)
      : api_(api), settings_(std::move(settings)) {}

  /// Compiles several sources at a time, at most one for each processor.
  /// Throws: CompileError of the first source that has an error.
  std::vector<jit::Object> compile(std::span<const Source> sources);

  /// Adds a folder for later units.
  void add_include_dir(const std::string& dir);

  const jit::Nvrtc& api() const { return api_; }
  const jit::Target& target() const { return settings_.target; }
  std::uint64_t compiled() const { return compiled_; }

 private:
  jit::Object compile_one(const Source& source) const;

  const jit::Nvrtc& api_;
  CompilerSettings settings_;
  std::atomic<std::uint64_t> compiled_{0};
};

/// Holds a definition that is about to be compiled.
struct CompileJob {
  Item item;
  std::string cell;
  std::vector<Source> sources;  // a variable has two: storage, pointer
  std::vector<Dependency> dependencies;
  std::vector<EntryPtr> included;  // entries of the header that it sees
};

/// Returns the source of `item` with the current header.
CompileJob make_job(const Item& item, const std::string& cell,
                    const Header& header);

/// Compiles the jobs. Throws: CompileError.
std::vector<DefinitionPtr> build(std::span<const CompileJob> jobs,
                                 Compiler& compiler, std::string& log);

/// Returns an instance of a kernel template, "scale<float>".
/// Throws: CompileError.
DefinitionPtr build_instance(const std::string& name, const Header& header,
                             Compiler& compiler);

/// Returns a unit that only checks if `entries` compile.
Source make_check(std::span<const EntryPtr> entries, const std::string& cell,
                  const Header& header);

}  // namespace gpuos::session
