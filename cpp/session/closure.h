#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "session/builder.h"
#include "session/definitions.h"

namespace gpuos::session {

/// Definitions that are linked together, and all that they reach.
struct Closure {
  std::vector<DefinitionPtr> functions;
  std::vector<DefinitionPtr> variables;
};

/// A closure as one image. Its variables are still to be given addresses.
struct Linked {
  DefinitionPtr root;
  Closure closure;
  std::string image;
};

/// Finds what a kernel needs among the newest definitions and links it.
class Linker {
 public:
  Linker(const Header& header, Definitions& definitions, Compiler& compiler)
      : header_(header), definitions_(definitions), compiler_(compiler) {}

  /// Compiles definitions again whose dependencies have changed. Throws:
  /// CompileError that names a missing symbol and its user, or the definition
  /// that no longer compiles.
  Closure close(std::span<const DefinitionPtr> roots);
  /// The image of one kernel; the same one until something in it changes.
  /// Throws: CompileError, BackendUnavailable without a linker.
  std::shared_ptr<const Linked> link(const DefinitionPtr& root);
  /// The image that holds the storage of a variable, and nothing else.
  std::string link_storage(const Definition& variable);
  /// Everything as one image, in which each variable has its storage.
  std::string link_all();

  /// Keep no image of it.
  void forget(const std::string& symbol);

  std::uint64_t linked() const { return linked_; }

  bool is_current(const Linked& linked) const;
  bool is_current(const Definition& definition) const;
  /// The definition itself unless something that it was compiled against has
  /// changed.
  DefinitionPtr fresh(const DefinitionPtr& definition);

 private:
  [[noreturn]] void fail_missing(const std::string& symbol,
                                 const Definition& user) const;
  bool is_ours(const std::string& symbol) const;
  EntryPtr find_change(const Definition& definition) const;

  std::string link_objects(std::span<const jit::Object> objects);

  const Header& header_;
  Definitions& definitions_;
  Compiler& compiler_;
  std::map<std::string, std::shared_ptr<const Linked>> links_;  // by symbol
  std::uint64_t linked_ = 0;
};

}  // namespace gpuos::session
