#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "requests/alias_analysis.h"

namespace gpuos::requests {

struct GroupMember {
  std::uint32_t next = kNone;  // in its group
  /// The request of the same group whose result an operand is. kNone: the
  /// operand is read from memory.
  std::array<std::uint32_t, kMaxRequestOperands> sources = no_sources();
  bool is_read_outside = false;  // by another group, or in part
  bool is_overwritten = false;   // as a whole, by a later request
  bool is_reduced = false;       // one element for each row of its group

  static constexpr std::array<std::uint32_t, kMaxRequestOperands> no_sources() {
    std::array<std::uint32_t, kMaxRequestOperands> none{};
    none.fill(kNone);
    return none;
  }
};

/// Requests that run together: elementwise ones with the same number of
/// elements, and functions of rows whose first operand has as many. Or they are
/// whole functions of any shapes.
struct Group {
  std::uint64_t elems = 0;
  std::uint32_t view = Request::kFlat;  // of all that are not flat
  std::uint32_t size = 0;               // members
  std::uint8_t axes = 0;                // of the functions of rows
  bool is_reduced = false;              // some members are
  bool is_whole = false;                // all members are whole functions
  std::uint32_t order = 0;
  std::uint32_t first = kNone;
  std::uint32_t last = kNone;
  std::uint32_t moved_into = kNone;  // the group that has its members now
  bool is_open = false;              // more may join
  bool is_needed_later = false;      // a later group depends on it
};

/// Divides requests into groups that may run one after another.
///
/// The results equal those of separate requests for the following reason. Two
/// requests conflict if they touch the same owner and one of them writes. Two
/// conditions are sufficient.
/// (1) If two conflicting requests are in different groups, the first is in the
/// earlier group.
/// (2) In one group, each operand that a member wrote before is exactly its
/// output, and its value is used. If a member overwrites memory of an owner, it
/// writes exactly what other members touch of that owner.
///
/// A request joins a group only if these hold for the requests before it. No
/// later group wrote an owner that it reads. This group wrote such an owner
/// only as exactly the operand. The owner that it writes was touched by no
/// group, by earlier groups only, or only by this one and as exactly the
/// output. Otherwise it opens a group after all others, for which (1) always
/// holds. A group may be moved after all others if no later group conflicts
/// with it. Conflicts are recorded in `is_needed_later` of the earlier group.
/// The readers of an owner that several groups touched are not known. When it
/// is written, all groups up to then keep their place (`settled_`).
///
/// A function of rows joins the group that makes its first operand. A reducing
/// one also joins the only reader of its operand that reduces it along the same
/// axes. Such a group further takes requests that use only its results and
/// numbers, and requests that read its results broadcast over the rows. After a
/// reduction, a member writes only untouched memory, so members that
/// depend on none may run before it.
class Groups {
 public:
  void run(const RequestArrays& arrays, AliasAnalysis& aliases);
  /// There are none: each request is alone.
  void clear() noexcept { members_.clear(); }

  /// In an order that gives the results of the requests one by one.
  template <typename Function>
  void for_each(Function function) const {
    for (std::uint32_t order = 0; order < sequence_.size(); ++order) {
      const Group& group = groups_[sequence_[order]];
      if (group.order == order && group.moved_into == kNone) function(group);
    }
  }
  /// Visits members in the order of the requests' steps.
  template <typename Function>
  void for_each_member(const Group& group, Function function) const {
    for (std::uint32_t request = group.first; request != kNone;
         request = members_[request].next)
      function(request);
  }
  const GroupMember& member(std::uint32_t request) const noexcept {
    return members_.empty() ? kAlone : members_[request];
  }

 private:
  /// Groups that a request may join, best first, and its constraints.
  struct Choice;

  void place(std::uint32_t request);
  /// Handles the common case: a request that reads nothing written, and writes
  /// untouched memory, is a separate group. Returns false if choose() must
  /// decide.
  bool place_alone(std::uint32_t request);
  std::uint32_t choose(std::uint32_t request, Choice& choice);
  void look_at_operands(std::uint32_t request, Choice& choice);
  void look_at_output(std::uint32_t request, Choice& choice);
  /// Returns whether all that touched the request's operand is one group, which
  /// reads it to reduce it along the same axes.
  bool is_reduced_beside(std::uint32_t request,
                         const Owner& owner) const noexcept;
  void add(std::uint32_t request, std::uint32_t group);
  void read(std::uint32_t request, std::uint32_t group);
  /// `toucher` is the output owner's toucher before this request.
  void write(std::uint32_t request, std::uint32_t group, std::uint32_t toucher);
  void touch_operands(std::uint32_t request, std::uint32_t group);
  void touch(Owner& owner, std::uint32_t group, const ArrayElements& array);

  std::uint32_t open(const Request& request);
  std::uint32_t root(std::uint32_t group) const noexcept;
  bool fits(std::uint32_t group, std::uint32_t request);
  /// Returns whether an operand is the result of a member of the group.
  bool is_made(const ArrayElements& operand, std::uint32_t member,
               const Group& group) const noexcept;
  /// Returns whether an operand of a whole function has the shape of a
  /// member's result.
  bool has_shape_of(const Request& request, std::uint32_t place,
                    std::uint32_t member) const noexcept;
  /// Returns whether it is a result of rows along whose axes it has no strides.
  bool is_spread(const ArrayElements& operand, const ArrayElements& result,
                 const Group& group) const noexcept;
  /// Calls function(owner, array) for each operand that is not a number, until
  /// it returns false. Returns whether it never did.
  template <typename Function>
  bool all_operands(std::uint32_t request, Function function);
  /// Returns whether the request reads a reduced member of the group as it is,
  /// and so has one element for each row too.
  bool is_of_rows(std::uint32_t request, std::uint32_t group);
  /// Returns whether all that it reads are such members.
  bool is_of_rows_alone(std::uint32_t request, std::uint32_t group);
  /// Returns whether the group may continue with a request that writes to this
  /// owner.
  static bool may_write(const Group& group, const Owner& out) noexcept {
    return !group.is_reduced || out.toucher == kNone;
  }
  /// The view and the elements that all members have in common.
  static std::uint32_t view_of(const Request& request) noexcept;
  std::uint64_t elems_of(const Request& request) const noexcept;
  bool fits(const Group& a, const Group& b) const noexcept;
  bool is_same_shape(std::uint32_t a, std::uint32_t b) const noexcept;
  bool is_movable(const Group& group) const noexcept {
    return !group.is_needed_later && group.order >= settled_;
  }
  void move_to_end(std::uint32_t group);
  void merge(std::uint32_t from, std::uint32_t into);

  const RequestArrays* arrays_ = nullptr;
  AliasAnalysis* aliases_ = nullptr;
  std::vector<GroupMember> members_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> sequence_;
  std::uint32_t settled_ = 0;

  static constexpr GroupMember kAlone{};

  /// Whole functions in a group, at most.
  static constexpr std::uint32_t kMostWhole = 32;

  /// Members of a group that a function of rows joins, at most: several loops
  /// over a row compute them again.
  static constexpr std::uint32_t kMostBeforeRows = 32;
};

}  // namespace gpuos::requests
