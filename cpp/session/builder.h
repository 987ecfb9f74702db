#pragma once

#include <span>
#include <string>
#include <vector>

#include "session/compiling.h"
#include "session/definition.h"
#include "session/header.h"

namespace gpuos::session {

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
