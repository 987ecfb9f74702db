#pragma once

#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpuos/error.h"
#include "session/cells/macros.h"
#include "session/device/closure.h"
#include "session/device/compiling.h"
#include "session/device/definitions.h"
#include "session/device/header.h"
#include "session/device/journal.h"
#include "session/host/host_program.h"

namespace gpuos::session {

/// Holds the definitions and launches of one cell.
struct CellReport {
  std::string cell;
  std::vector<std::string> defined;  // "kernel foo", in the order of the cell
  std::vector<Item> statements;      // Launch and Call
  std::string log;                   // output of the compiler
  /// Holds the unit if the cell has host code. Its statements are items of
  /// `host_cell`.
  std::optional<HostUnit> host_unit{};
  HostCell host_cell{};
};

/// Holds "void name() { k<<<1, 1>>>(); }".
struct LaunchFunction {
  std::string cell;
  std::vector<Item> statements;
};

/// Holds everything that a session knows, without a device. A cell is a
/// transaction: between run() and accept() it can be taken back whole.
class Workspace {
 public:
  /// Limits the cells that undo() can take back. Entries that older cells
  /// replaced are forgotten.
  static constexpr std::size_t kUndoable = 64;

  Workspace(const jit::Nvrtc& api, CompilerSettings settings,
            HostProgram::FindBound find_bound = nullptr)
      : folders_(settings.include_dirs),
        host_(settings.include_dirs, host_flags(settings.options),
              std::move(find_bound)),
        compiler_(api, std::move(settings)),
        linker_(header_, definitions_, compiler_) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Compiles a cell. An empty name is "cell <number>". After an error nothing
  /// has changed.
  /// Throws: CompileError.
  CellReport run(std::string_view text, std::string_view name);
  /// Keeps the changes of the last run().
  void accept();
  /// Takes back the changes of the last run().
  void roll_back();
  /// Takes back the last accepted cell. Returns false if there is none.
  bool undo();

  /// Returns the current kernel of "k", "m::k", "k(int)" or "k<float>".
  /// Throws: CompileError if it is declared only or its instance has an error,
  /// InvalidArgument if there is no such name.
  DefinitionPtr kernel(std::string_view name);
  DefinitionPtr function(std::string_view name);
  /// Returns the kernel of a stub. If several have its name, the key decides.
  DefinitionPtr kernel(std::string_view name, const std::string& key);
  /// Returns null if there is none.
  DefinitionPtr find_variable(std::string_view name) const;
  /// Returns null if there is none.
  const LaunchFunction* find_launches(const std::string& name) const;

  Linker& linker() { return linker_; }
  Compiler& compiler() { return compiler_; }
  HostProgram& host() { return host_; }
  const HostProgram& host() const { return host_; }
  /// Returns the changes of the cell that runs.
  Journal& journal() { return current_; }
  void add_include_dir(const std::string& dir);
  const Header& header() const { return header_; }
  std::size_t cells() const { return cells_; }
  std::vector<std::string> names() const;

 private:
  /// Holds the state of one attempt at a cell.
  struct Attempt {
    const CellText& cell;
    std::set<std::string> host_only;  // keys of items that no device takes
    std::set<std::string> keys{};
    std::vector<CompileJob> jobs{};
    std::vector<EntryPtr> added{};
    std::set<std::string> host_names{};      // names that the cell defines
    std::set<std::string> host_functions{};  // keys of functions
    bool needs_host = false;
    bool has_includes = false;
    bool is_clash = false;  // names clash on the device
  };

  static std::vector<std::string> host_flags(const JitOptions& options);
  CellReport run_text(const CellText& cell);
  void keep_headers(const std::vector<Item>& items);
  std::optional<CellText> find_header(std::string_view line,
                                      const std::string& from);
  std::vector<Item> split(const CellText& cell);
  NameKind kind_of_name(std::string_view name, bool is_needed) const;
  bool ask(const std::set<std::string>& names, const std::vector<Item>& items,
           const CellText& cell);
  std::size_t choose(const Conditional& conditional, const CellText& cell);
  void run_attempt(Attempt& attempt, const std::vector<Item>& items,
                   CellReport& report);
  void run_for_host(Attempt& attempt, const std::vector<Item>& items,
                    CellReport& report, const CompileError& first,
                    const std::exception_ptr& error);
  void take(const Item& item, Attempt& attempt, CellReport& report);
  void take_device(const Item& item, Attempt& attempt, CellReport& report);
  void take_host(Item item, Attempt& attempt, CellReport& report);
  bool is_host_statement(const Item& item, const Attempt& attempt) const;
  void put_whole(const std::string& declaration);
  void refuse_other_side(const Item& item, const CellText& cell) const;
  void refuse_host_name(const Item& item, const CellText& cell) const;
  std::set<std::string> find_host_only(const std::vector<Item>& items,
                                       const CellText& cell);
  void set_launches(const Item& item, const std::string& cell);
  void drop_launches(const std::string& name);
  std::vector<EntryPtr> unseen(std::span<const EntryPtr> added,
                               std::span<const CompileJob> jobs) const;
  void compile(std::vector<CompileJob>& jobs, std::span<const EntryPtr> added,
               CellReport& report);
  DefinitionPtr named(std::string_view name, bool wants_kernel);
  DefinitionPtr instance(const std::string& name);
  [[noreturn]] void fail_unknown(std::string_view name,
                                 std::string_view wanted) const;

  std::vector<std::string> folders_;              // folders of headers
  std::map<std::string, std::string> headers_{};  // texts of headers by path
  bool takes_headers_ = true;                     // headers become parts of a
                                                  // cell
  bool has_headers_ = false;                      // the running cell has
                                                  // headers
  HostProgram host_;
  Header header_;
  Definitions definitions_;
  Macros macros_;                            // macros of accepted cells
  Macros reading_;                           // macros of the running cell too
  std::vector<std::string> packs_ = {""};    // values of accepted cells
  std::vector<std::string> reading_packs_;   // values of the running cell too
  std::map<std::string, NameKind> answers_;  // answers of the C++ compiler, for
                                             // a cell
  std::map<std::string, LaunchFunction> launches_;
  std::map<std::string, DefinitionPtr> instances_;
  Compiler compiler_;
  Linker linker_;
  Journal current_;
  std::deque<Journal> history_;
  std::size_t cells_ = 0;
};

}  // namespace gpuos::session
