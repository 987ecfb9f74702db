#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "host/host_image.h"
#include "session/device/journal.h"

namespace gpuos::session {

/// Holds a symbol of an opened library and the place of its address.
struct HostImport {
  std::string symbol;
  void** place;
  bool is_value = false;  // place of a variable, which gets its address once
  bool is_bound = false;
};

/// Holds one compiled cell in this process.
struct HostLibrary {
  host::HostImage image;
  void* handle = nullptr;
  std::string name;  // beginning of its own functions' names
  std::vector<HostImport> imports{};
  std::map<std::string, void*> exports{};  // null for a thread-local variable
  bool is_taken_back = false;              // no address leads to it any more
};

/// Holds the host code of a session in this process. Libraries call each other
/// through tables of addresses. A new definition thus replaces an old one
/// without a new compilation of its callers.
///
/// Lifetime: libraries stay open until the process ends.
class HostObjects {
 public:
  HostObjects() = default;
  HostObjects(const HostObjects&) = delete;
  HostObjects& operator=(const HostObjects&) = delete;

  /// Opens a library without running any of its code.
  /// Throws: CompileError for a symbol that has no definition, Error.
  const HostLibrary& open(host::HostImage image, const std::string& name,
                          const std::string& cell, Journal& journal);

  /// Returns the names in the identities of symbols that are still undefined:
  /// "n" and "a" of "n::a".
  std::set<std::string> missing() const;

  /// Destroys all variables, the newest first.
  void end();

  /// Makes calls of the function, or uses of the variable, `identity` go to
  /// `symbol` from now on. With `replaces` those of earlier versions do so too.
  void define(const std::string& identity, const std::string& symbol,
              bool replaces, Journal& journal);

 private:
  using Addresses = std::unordered_map<std::string, void*>;

  void refuse_missing(const std::vector<std::string>& wanted,
                      const HostLibrary& library,
                      const std::string& cell) const;
  void set(const std::string& symbol, void* address);
  void* address_of(const std::string& symbol) const;
  void bind(HostImport& import);

  std::deque<HostLibrary> libraries_;
  Addresses addresses_;  // current address by symbol
  Addresses exports_;    // address of the definition by symbol
  std::map<std::string, std::set<std::string>> symbols_;  // symbols by identity
  std::map<std::string, std::string> newest_;             // newest symbol by
                                                          // identity
};

/// Returns "a::f(int)" for the symbol of "a::gpuos_1_2::f(int)". Returns "a::n"
/// for a variable.
std::string identity_of(const std::string& symbol);

/// Returns the text without the namespaces that definitions have for
/// themselves.
std::string without_own_namespaces(std::string text);

}  // namespace gpuos::session
