#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gpuos/error.h"
#include "session/host/host_program.h"

namespace gpuos::session {

/// Returns whether the item is a line of #include.
bool is_include(const Item& item);

/// Describes a definition that is compiled once more, and why.
struct HostAgain {
  std::string cell;
  int first_line = 0;
  int last_line = 0;
  std::string why;
};

/// Writes the source of one unit: each item in order, after the items that it
/// needs. Also writes the reached definitions that were compiled against a
/// changed one.
class HostUnitWriter {
 public:
  HostUnitWriter(HostProgram& program, HostUnit& unit, Journal& journal)
      : program_(program), unit_(unit), journal_(journal) {}

  /// Writes the cell. Throws: CompileError.
  void write(const HostCell& cell);
  /// Writes the directives at the beginning of every unit.
  void write_directives() { need({}); }
  /// Writes the directives and the meanings of names.
  void write_needed(const std::set<std::string>& names) { need(names); }
  /// Notes an item for later units that need it.
  void note(const Item& plain, const std::string& cell);
  /// Throws: CompileError if the compiler misses a variable that exists but
  /// whose type was defined again.
  void refuse_outdated(const CompileError& error) const;

  std::string includes() const;
  std::string text() const;
  const std::vector<HostAgain>& again() const { return again_; }

 private:
  using Names = std::set<std::string>;

  void define(const Item& given);
  void take_scopes_of_declaration(Item& item, const std::string& key) const;
  void write_item(const Item& item, int index);
  void write_text(const Item& item, Again again);
  void write_declaration(const Item& item);
  void write_function(const Item& item);
  void write_variable(const Item& item, int index);
  void write_statement(const Item& item, int index);
  void declare_function(const Item& item);
  void declare_variable(const std::string& key);

  void need(const Names& names);
  void need_entry(const EntryPtr& entry);
  void need_forward(const Entry& entry, const std::string& definition);
  void need_namesakes(const Item& given);
  void need_older(const EntryPtr& entry);
  void need_bound(const Names& names);
  void compile_reached(const Names& names);
  void compile_again(const std::string& key);
  void write_directive(const EntryPtr& entry);

  bool can_declare(const Item& function) const;
  bool is_library_own(const Item& declared) const;
  bool has_changed_member(const Item& type) const;
  bool is_unfinished(const Entry& entry) const;
  bool comes_later(const Entry& entry) const;
  bool is_member_of_open(const Item& item) const;
  bool is_too_early(const Item& item) const;
  bool is_stale(const std::string& key) const;
  bool is_own(const std::string& key) const { return own_.contains(key); }
  [[noreturn]] void refuse_member(const Item& item) const;
  std::string reason_of(const HostDefinition& definition) const;
  std::vector<std::string> scopes_of_definition(
      const Item& forward, const std::string& definition) const;
  Item in_own_namespace(Item item) const;
  Item as_declared(const Item& given) const;
  Item befriended(Item item, const std::vector<Item>& cell) const;
  EntryPtr fellow_of(const Item& type) const;
  void place(const std::string& text, Item item, const std::string& cell,
             std::uint64_t written = 0);

  HostProgram& program_;
  HostUnit& unit_;
  Journal& journal_;
  std::string cell_;
  std::string includes_;
  std::string text_;
  bool is_past_includes_ = false;
  std::vector<Item> items_;                 // items of the cell
  std::map<std::string, const Item*> own_;  // the cell's functions and so on,
                                            // by key
  std::set<std::string> written_;           // keys
  std::set<std::string> done_;              // keys of items that are complete
                                            // in the text
  std::uint64_t written_at_ = 0;            // version of an item that is
                                            // compiled again
  const Item* written_now_ = nullptr;       // a type, a template or the like
  std::vector<const Item*> open_;           // all that are being written
  std::set<const Entry*> placed_;
  std::set<std::string> declared_;  // keys of functions
  // The keys are qualified names of functions in the unit.
  std::map<std::string, std::set<std::string>> overloads_;

  std::set<std::string> bound_;                  // names
  std::set<std::string> retyped_;                // keys of variables
  std::map<std::string, std::string> outdated_;  // reason by name of a variable
  std::vector<HostAgain> again_;
};

}  // namespace gpuos::session
