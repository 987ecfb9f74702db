#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "queue/backend.h"
#include "queue/operator_record.h"

namespace gpuos {

/// Names, operators and slots of one runtime.
///
/// Threads: any. No lock is held while something compiles or loads.
class OperatorRegistry {
 public:
  using Marks = std::vector<std::uint64_t>;  // one position a ring

  /// `heads` says, under the submit lock, up to where tasks were submitted;
  /// `wait_past` waits until the tasks before some marks are done.
  OperatorRegistry(Backend& backend, std::function<Marks()> heads,
                   std::function<bool(const Marks&)> wait_past);

  using Record = std::shared_ptr<OperatorRecord>;

  /// What a definition is to become.
  struct Draft {
    const OperatorDefinition& definition;
    Record record;  // with a body: nothing is to be loaded
    std::vector<std::uint32_t> slots{};
    bool is_draft = false;
    bool is_awaited = true;
    bool is_checked = false;
  };
  /// Gives names to `drafts`: all or nothing; what compiles together is one
  /// image.
  void define(std::vector<Draft>& drafts);
  /// Throws: InvalidArgument for what is built in, an alias or undefined.
  static void check_replaceable(const OperatorRecord& record);
  /// `record` becomes what `next` is. Throws: InvalidArgument if it takes other
  /// arguments.
  void replace(const Record& record, Draft next);
  /// Optimised code for a tiered operator that is still what it was, or
  /// compiled code for a program. False if it is not.
  bool upgrade(const Record& record, const OperatorDefinition& definition,
               bool is_awaited = false);
  void undefine(const std::shared_ptr<OperatorRecord>& record);
  /// Unloads the code of a program that nobody will call any more.
  void retire(OperatorRecord& record);
  std::shared_ptr<OperatorRecord> alias(
      std::string_view name, const std::shared_ptr<OperatorRecord>& target);
  std::shared_ptr<OperatorRecord> find(std::string_view name) const;
  std::vector<std::string> names() const;

  /// Unload what was dropped and is not used by a pending task any more.
  void collect() noexcept;
  /// Whether there may be something to unload, or operators that are checked:
  /// one look for each wait.
  bool has_chores() const noexcept {
    return chores_.load(std::memory_order_relaxed) != 0;
  }
  bool has_dropped() const noexcept {
    return (chores_.load(std::memory_order_relaxed) & kDropped) != 0;
  }

 private:
  using Slots = std::vector<std::uint32_t>;
  struct Dropped {
    Slots slots;
    Marks marks;
  };

  void add_builtins();
  void check_name_is_free(std::string_view name,
                          std::string_view what) const;  // mutex_ held
  void insert(const std::shared_ptr<OperatorRecord>& record);
  Slots take_slots(std::size_t count);
  /// Waits for the slots that were dropped first; false if there are none.
  bool wait_for_slots();
  /// The slots that `record` names until now.
  static Slots take_slots_of(OperatorRecord& record);
  void drop(Slots slots);
  void give_back(const Slots& slots);
  /// Throws what the backend throws; then nothing of `drafts` is loaded.
  void load(std::span<const Draft*> drafts);
  void load_together(std::span<const Draft*> drafts);
  void insert_all(const std::vector<Draft>& drafts);
  /// Makes `record` what `next` is; returns slots that nobody names any more.
  Slots become(OperatorRecord& record, const Draft& next,
               const std::shared_ptr<const expression::Body>& body);

  Backend& backend_;
  std::function<Marks()> heads_;
  std::function<bool(const Marks&)> wait_past_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<OperatorRecord>, std::less<>> records_;
  Slots free_slots_;
  std::vector<Dropped> dropped_;
  enum Chores : std::uint8_t { kDropped = 1, kChecked = 2 };
  std::atomic<std::uint8_t> chores_{0};  // a guess; written under mutex_
};

}  // namespace gpuos
