#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "operators/history.h"
#include "operators/slot_table.h"
#include "queue/backend.h"
#include "queue/operator_record.h"

namespace gpuos {

/// Holds names, operators and slots of one runtime.
///
/// Threads: any. No lock is held while something compiles or loads.
class OperatorRegistry {
 public:
  /// Calls a function while nothing is submitted.
  using Exclusively = std::function<void(const std::function<void()>&)>;

  /// Keeps `versions` of each operator loaded.
  OperatorRegistry(Backend& backend, SlotTable& slots, Exclusively exclusively,
                   std::size_t versions);

  using Record = std::shared_ptr<OperatorRecord>;

  /// Describes an operator that is being made from a definition.
  struct Draft {
    const OperatorDefinition& definition;
    Record record;               // a record with a body needs no loading
    Record replaces = nullptr;   // null: it is a new name
    std::uint64_t expected = 0;  // version that it must replace, or 0 for any
    std::vector<std::uint32_t> slots{};
    std::uint64_t number = 1;  // number of its version, once it is published
    bool is_draft = false;
    bool is_awaited = true;
    bool is_checked = false;
  };
  /// Gives names to drafts and other bodies to names: all or nothing, at one
  /// moment. Drafts that are compiled together are one image. Throws:
  /// InvalidArgument, also if a body takes other arguments.
  void apply(std::vector<Draft>& drafts);
  /// Throws: InvalidArgument for an alias and for an undefined operator.
  static void check_replaceable(const OperatorRecord& record, const char* what);
  /// Makes the code of an earlier version current again and returns its new
  /// number. `to` 0 is the version before. Throws: InvalidArgument.
  std::uint64_t rollback(const Record& record, std::uint64_t to,
                         std::uint64_t expected);
  /// Makes a built-in operator run its own code again. Throws: InvalidArgument.
  std::uint64_t restore(const Record& record);
  /// Returns a built-in operator that no caller can replace. Throws:
  /// InvalidArgument.
  Record builtin(std::string_view name) const;
  /// Loads optimised code for a tiered operator, or compiled code for a
  /// program. Returns false if the operator has changed meanwhile.
  bool upgrade(const Record& record, const OperatorDefinition& definition,
               bool is_awaited = false);
  void undefine(const std::shared_ptr<OperatorRecord>& record);
  /// Unloads the code of a program that no caller will use again.
  void retire(OperatorRecord& record);
  std::shared_ptr<OperatorRecord> alias(
      std::string_view name, const std::shared_ptr<OperatorRecord>& target);
  std::shared_ptr<OperatorRecord> find(std::string_view name) const;
  std::vector<std::string> names() const;

  /// Returns whether there may be checked operators.
  bool has_checked() const noexcept {
    return has_checked_.load(std::memory_order_relaxed);
  }

 private:
  using Records =
      std::map<std::string, std::shared_ptr<OperatorRecord>, std::less<>>;

  void add_builtins();
  void check_name_is_free(std::string_view name,
                          std::string_view what) const;  // mutex_ held
  /// Throws: Error if there are not enough slots, whatever versions are
  /// forgotten.
  Slots take_slots(std::size_t count);
  /// Loads `drafts`. Throws the backend's error, and then none of `drafts` is
  /// loaded.
  void load(std::span<const Draft*> drafts);
  void load_together(std::span<const Draft*> drafts);
  /// Takes slots for drafts and loads their code.
  void load_all(std::vector<Draft>& drafts);
  /// Calls `change` while nothing is submitted and no thread looks names up.
  template <typename Change>
  void exclusively(Change change);
  // These run in exclusively():
  void check(const Draft& draft) const;
  Slots publish(Draft& draft);
  static void clear(OperatorRecord& record);
  static void become(OperatorRecord& name, const OperatorCode& code);
  /// Returns the variant of `name` with the parameters of `next`. Null stands
  /// for `name` itself.
  static Record variant_of(const Record& name, const OperatorRecord& next);
  /// Returns slots of surplus versions, first of `record` and then of others.
  /// `before` is how many old slots `record` had.
  Slots trim(OperatorRecord& record, std::size_t before);
  Slots forget_most_kept();

  Backend& backend_;
  SlotTable& slots_;
  const Exclusively exclusively_;
  const std::size_t versions_;
  mutable std::mutex mutex_;
  Records records_;
  Records builtins_;
  std::size_t old_slots_ = 0;  // slots of all versions that are not current
  std::atomic<bool> has_checked_{false};
};

}  // namespace gpuos
