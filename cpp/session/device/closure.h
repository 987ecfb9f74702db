#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "session/device/compiling.h"
#include "session/device/definitions.h"

namespace gpuos::session {

/// Holds definitions that are linked together, and all that they reach.
struct Closure {
  std::vector<DefinitionPtr> functions;
  std::vector<DefinitionPtr> variables;
};

/// Holds a closure as one image. Its variables still need addresses.
struct Linked {
  DefinitionPtr root;
  Closure closure;
  std::string image;
};

/// Finds the newest definitions that a kernel needs and links them.
class Linker {
 public:
  Linker(const Header& header, Definitions& definitions, Compiler& compiler)
      : header_(header), definitions_(definitions), compiler_(compiler) {}

  /// Compiles definitions again whose dependencies have changed. Throws:
  /// CompileError that names a missing symbol and its user, or the definition
  /// that no longer compiles.
  Closure close(std::span<const DefinitionPtr> roots);
  /// Returns the image of one kernel. The image stays until one of its
  /// definitions changes.
  /// Throws: CompileError, BackendUnavailable without a linker.
  std::shared_ptr<const Linked> link(const DefinitionPtr& root);
  /// Returns the image that holds only the storage of a variable.
  std::string link_storage(const Definition& variable);
  /// Returns one image with everything, in which each variable has its storage.
  std::string link_all();

  /// Drops the image of `symbol`.
  void forget(const std::string& symbol);

  std::uint64_t linked() const { return linked_; }

  bool is_current(const Linked& linked) const;
  bool is_current(const Definition& definition) const;
  /// Returns the definition itself unless one of its dependencies has changed.
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
