#include "requests/groups.h"

#include <algorithm>
#include <span>

namespace gpuos::requests {

struct Groups::Choice {
  // The groups of each operand and of the output.
  static constexpr std::size_t kMost = kMaxRequestOperands + 1;

  std::array<std::uint32_t, kMost> groups{};
  std::uint32_t count = 0;
  std::array<std::uint32_t, kMost> barred{};
  std::uint32_t barred_count = 0;
  std::uint32_t least_order = 0;  // of the group that it joins
  bool is_alone = false;          // it joins none

  static bool has(const auto& groups, std::uint32_t count,
                  std::uint32_t group) noexcept {
    return std::find(groups.begin(), groups.begin() + count, group) !=
           groups.begin() + count;
  }
  void add(std::uint32_t group) {
    if (!has(groups, count, group)) groups[count++] = group;
  }
  void bar(std::uint32_t group) { barred[barred_count++] = group; }
  bool is_barred(std::uint32_t group) const noexcept {
    return has(barred, barred_count, group);
  }
};

void Groups::run(const RequestArrays& arrays, AliasAnalysis& aliases) {
  arrays_ = &arrays;
  aliases_ = &aliases;
  groups_.clear();
  sequence_.clear();
  settled_ = 0;
  const auto count = static_cast<std::uint32_t>(arrays.requests().size());
  members_.assign(count, {});
  for (std::uint32_t request = 0; request < count; ++request)
    if (arrays.request(request).elems != 0) place(request);
}

std::uint32_t Groups::root(std::uint32_t group) const noexcept {
  while (groups_[group].moved_into != kNone) group = groups_[group].moved_into;
  return group;
}

bool Groups::is_same_shape(std::uint32_t a, std::uint32_t b) const noexcept {
  // A flat array has any shape of its size.
  if (a == Request::kFlat || b == Request::kFlat || a == b) return true;
  const TensorView& x = arrays_->view(a);
  const TensorView& y = arrays_->view(b);
  return x.dims == y.dims &&
         std::equal(x.shape.begin(), x.shape.begin() + x.dims, y.shape.begin());
}

std::uint32_t Groups::view_of(const Request& request) noexcept {
  // The output of a function of rows comes first, then the operand.
  return request.views + (is_row_function(request) ? 1 : 0);
}

std::uint64_t Groups::elems_of(const Request& request) const noexcept {
  return is_row_function(request) ? static_cast<std::uint64_t>(
                                        arrays_->view(view_of(request)).size())
                                  : request.elems;
}

bool Groups::fits(std::uint32_t index, std::uint32_t request) {
  const Group& group = groups_[index];
  const Request& asked = arrays_->request(request);
  if (!group.is_open || group.is_whole != is_whole(asked)) return false;
  if (group.is_whole) return group.size < kMostWhole;
  if (group.is_reduced && is_of_rows(request, index))
    return is_of_rows_alone(request, index);
  if (group.elems != elems_of(asked) ||
      !is_same_shape(group.view, view_of(asked)))
    return false;
  return !is_row_function(asked) ||
         (group.size <= kMostBeforeRows &&
          (group.axes == 0 || group.axes == asked.axes));
}

bool Groups::is_made(const ArrayElements& operand, std::uint32_t member,
                     const Group& group) const noexcept {
  const ArrayElements result = arrays_->output(member);
  return arrays_->is_same(operand, result) ||
         (members_[member].is_reduced && is_spread(operand, result, group));
}

bool Groups::is_spread(const ArrayElements& operand,
                       const ArrayElements& result,
                       const Group& group) const noexcept {
  if (operand.address != result.address || operand.dtype != result.dtype ||
      operand.view == Request::kFlat || result.view != Request::kFlat ||
      !is_same_shape(operand.view, group.view))
    return false;
  const TensorView& view = arrays_->view(operand.view);
  std::int64_t rows = 1;
  for (std::size_t d = view.dims; d-- > 0;) {
    const bool is_reduced = (group.axes >> d & 1) != 0;
    if (view.shape[d] == 1) continue;
    if (view.strides[d] != (is_reduced ? 0 : rows)) return false;
    if (!is_reduced) rows *= view.shape[d];
  }
  return static_cast<std::uint64_t>(rows) == result.elems;
}

bool Groups::has_shape_of(const Request& request, std::uint32_t place,
                          std::uint32_t member) const noexcept {
  const TensorView& x = arrays_->view(request.views + 1 + place);
  const TensorView& y = arrays_->view(arrays_->request(member).views);
  return std::ranges::equal(std::span(x.shape).first(x.dims),
                            std::span(y.shape).first(y.dims));
}

template <typename Function>
bool Groups::all_operands(std::uint32_t request, Function function) {
  const Request& asked = arrays_->request(request);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < asked.operands; ++i) {
    if (is_number(asked, i)) continue;
    const ArrayElements array = arrays_->operand(request, i, before++);
    bool goes_on = true;
    aliases_->owners().for_each_part(
        aliases_->of(request).operands[i], [&](const Owner& owner) {
          goes_on = goes_on && function(owner, array);
        });
    if (!goes_on) return false;
  }
  return true;
}

bool Groups::is_of_rows(std::uint32_t request, std::uint32_t group) {
  return !all_operands(
      request, [&](const Owner& owner, const ArrayElements& array) {
        return owner.writer == kNone || root(owner.writer) != group ||
               !members_[owner.value].is_reduced ||
               !arrays_->is_same(array, arrays_->output(owner.value));
      });
}

bool Groups::is_of_rows_alone(std::uint32_t request, std::uint32_t group) {
  const Request& asked = arrays_->request(request);
  if (is_row_function(asked) || asked.views != Request::kFlat) return false;
  return all_operands(
      request, [&](const Owner& owner, const ArrayElements& array) {
        return owner.writer != kNone && root(owner.writer) == group &&
               members_[owner.value].is_reduced &&
               arrays_->is_same(array, arrays_->output(owner.value));
      });
}

bool Groups::fits(const Group& a, const Group& b) const noexcept {
  if (!a.is_open || !b.is_open || a.is_whole != b.is_whole) return false;
  if (a.is_whole) return a.size + b.size <= kMostWhole;
  return a.elems == b.elems && is_same_shape(a.view, b.view) &&
         (a.axes == 0 || b.axes == 0 || a.axes == b.axes);
}

std::uint32_t Groups::open(const Request& request) {
  const auto group = static_cast<std::uint32_t>(groups_.size());
  const auto order = static_cast<std::uint32_t>(sequence_.size());
  groups_.push_back({.elems = elems_of(request),
                     .is_whole = is_whole(request),
                     .order = order,
                     .is_open = !aliases_->has_overlaps()});
  sequence_.push_back(group);
  return group;
}

void Groups::move_to_end(std::uint32_t group) {
  groups_[group].order = static_cast<std::uint32_t>(sequence_.size());
  sequence_.push_back(group);
}

void Groups::merge(std::uint32_t from, std::uint32_t into) {
  Group& source = groups_[from];
  Group& target = groups_[into];
  members_[target.last].next = source.first;
  target.last = source.last;
  if (target.view == Request::kFlat) target.view = source.view;
  target.size += source.size;
  target.axes |= source.axes;
  target.is_reduced = target.is_reduced || source.is_reduced;
  source.moved_into = into;
}

bool Groups::place_alone(std::uint32_t request) {
  const Request& asked = arrays_->request(request);
  const RequestOwners& of = aliases_->of(request);
  OwnerTable& owners = aliases_->owners();
  if (owners[of.out].toucher != kNone || is_reducing(asked)) return false;
  for (std::size_t i = 0; i < asked.operands; ++i) {
    if (is_number(asked, i)) continue;
    const Owner& owner = owners[of.operands[i]];
    if (owner.writer != kNone || owner.parts != 0) return false;
  }
  const std::uint32_t group = open(asked);
  Group& own = groups_[group];
  own.first = own.last = request;
  own.view = view_of(asked);
  own.size = 1;
  if (is_row_function(asked)) own.axes = asked.axes;
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < asked.operands; ++i)
    if (!is_number(asked, i))
      touch(owners[of.operands[i]], group,
            arrays_->operand(request, i, before++));
  Owner& out = owners[of.out];
  out.writer = group;
  out.value = request;
  touch(out, group, arrays_->output(request));
  return true;
}

void Groups::place(std::uint32_t request) {
  if (!aliases_->has_overlaps() && place_alone(request)) return;
  std::uint32_t group = kNone;
  if (!aliases_->has_overlaps()) {
    Choice choice;
    look_at_operands(request, choice);
    look_at_output(request, choice);
    if (choice.count != 0 && !choice.is_alone) group = choose(request, choice);
  }
  if (group == kNone) group = open(arrays_->request(request));
  add(request, group);
}

void Groups::look_at_operands(std::uint32_t request, Choice& choice) {
  const Request& asked = arrays_->request(request);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < asked.operands; ++i) {
    if (is_number(asked, i)) continue;
    const std::uint32_t place = before++;
    const Owner& owner = aliases_->owners()[aliases_->of(request).operands[i]];
    if (owner.parts != 0) {
      // It comes after the groups that write the parts.
      aliases_->owners().for_each_part(
          aliases_->of(request).operands[i], [&](const Owner& part) {
            choice.is_alone = choice.is_alone || part.writer != kNone;
          });
      continue;
    }
    if (owner.writer == kNone) {
      if (i == 0 && is_reduced_beside(request, owner))
        choice.add(root(owner.toucher));
      continue;
    }
    const std::uint32_t group = root(owner.writer);
    choice.least_order = std::max(choice.least_order, groups_[group].order);
    const bool is_beside_rows = is_row_function(asked) && i != 0;
    const bool has_shape =
        !is_whole(asked) || has_shape_of(asked, place, owner.value);
    if (!is_beside_rows && has_shape &&
        is_made(arrays_->operand(request, i, place), owner.value,
                groups_[group]))
      choice.add(group);
    else
      choice.bar(group);
  }
}

bool Groups::is_reduced_beside(std::uint32_t request,
                               const Owner& owner) const noexcept {
  const Request& asked = arrays_->request(request);
  return is_reducing(asked) && owner.toucher != kNone &&
         owner.toucher != kMany &&
         groups_[root(owner.toucher)].axes == asked.axes &&
         owner.is_one_array &&
         arrays_->is_same(owner.array, arrays_->operand(request, 0, 0));
}

void Groups::look_at_output(std::uint32_t request, Choice& choice) {
  const Owner& owner = aliases_->owners()[aliases_->of(request).out];
  if (owner.toucher == kNone) return;
  choice.is_alone = choice.is_alone || owner.toucher == kMany;
  if (choice.is_alone) return;
  const std::uint32_t group = root(owner.toucher);
  choice.least_order = std::max(choice.least_order, groups_[group].order);
  const auto kind = arrays_->request(request).function->kind;
  if (owner.is_one_array && kind == RequestFunction::Kind::Elementwise &&
      arrays_->is_same(owner.array, arrays_->output(request)))
    choice.add(group);
  else
    choice.bar(group);
}

// The newest of the groups that the request fits into, and into it as many of
// the others as may be moved there.
std::uint32_t Groups::choose(std::uint32_t request, Choice& choice) {
  const auto groups = std::span(choice.groups.data(), choice.count);
  std::ranges::sort(groups, [this](std::uint32_t a, std::uint32_t b) {
    return groups_[a].order > groups_[b].order;
  });
  std::uint32_t chosen = kNone;
  const std::uint32_t view = view_of(arrays_->request(request));
  const Owner& out = aliases_->owners()[aliases_->of(request).out];
  for (const std::uint32_t group : groups) {
    if (choice.is_barred(group) || !may_write(groups_[group], out)) continue;
    if (chosen != kNone) {
      // A flat one fits another shape than the request's.
      if (fits(groups_[group], groups_[chosen]) &&
          (groups_[group].is_whole ||
           is_same_shape(groups_[group].view, view)) &&
          is_movable(groups_[group]))
        merge(group, chosen);
      continue;
    }
    if (!fits(group, request)) continue;
    // A barred group may be as old as this one, but it must be older.
    const bool is_late = groups_[group].order >= choice.least_order;
    if (!is_late && !is_movable(groups_[group])) continue;
    if (!is_late) move_to_end(group);
    chosen = group;
  }
  return chosen;
}

void Groups::add(std::uint32_t request, std::uint32_t index) {
  Group& group = groups_[index];
  if (group.first == kNone)
    group.first = request;
  else
    members_[group.last].next = request;
  group.last = request;
  const Request& asked = arrays_->request(request);
  if (group.view == Request::kFlat) group.view = view_of(asked);
  ++group.size;
  if (is_row_function(asked)) group.axes = asked.axes;
  members_[request].is_reduced =
      is_reducing(asked) || (group.is_reduced && is_of_rows(request, index));
  group.is_reduced = group.is_reduced || members_[request].is_reduced;
  if (aliases_->has_overlaps()) {
    // The owners do not show its readers.
    members_[request].is_read_outside = true;
    return;
  }
  const Owner& out = aliases_->owners()[aliases_->of(request).out];
  const std::uint32_t toucher = out.toucher;
  read(request, index);
  write(request, index, toucher);
}

void Groups::read(std::uint32_t request, std::uint32_t group) {
  const Request& asked = arrays_->request(request);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < asked.operands; ++i) {
    if (is_number(asked, i)) continue;
    const ArrayElements array = arrays_->operand(request, i, before++);
    aliases_->owners().for_each_part(
        aliases_->of(request).operands[i], [&](Owner& owner) {
          if (owner.writer != kNone) {
            const std::uint32_t writer = root(owner.writer);
            if (writer == group) {
              members_[request].sources[i] = owner.value;
            } else {
              groups_[writer].is_needed_later = true;
              members_[owner.value].is_read_outside = true;
            }
          }
          touch(owner, group, array);
        });
  }
}

void Groups::write(std::uint32_t request, std::uint32_t group,
                   std::uint32_t toucher) {
  Owner& owner = aliases_->owners()[aliases_->of(request).out];
  const ArrayElements array = arrays_->output(request);
  if (owner.value != kNone) {
    if (arrays_->is_same(array, arrays_->output(owner.value)))
      members_[owner.value].is_overwritten = true;
    else
      members_[owner.value].is_read_outside = true;
  }
  owner.writer = group;
  owner.value = request;
  const bool is_of_others =
      toucher == kMany || (toucher != kNone && root(toucher) != group);
  if (is_of_others) {
    // They stay before this group, so only later accesses count.
    if (toucher == kMany)
      settled_ = groups_[group].order;
    else
      groups_[root(toucher)].is_needed_later = true;
    owner.toucher = kNone;
    owner.is_one_array = true;
  }
  touch(owner, group, array);
  if (is_of_others) touch_operands(request, group);
}

// Notes the accesses to the output's owner.
void Groups::touch_operands(std::uint32_t request, std::uint32_t group) {
  const Request& asked = arrays_->request(request);
  const RequestOwners& owners = aliases_->of(request);
  std::uint32_t before = 0;
  for (std::size_t i = 0; i < asked.operands; ++i) {
    if (is_number(asked, i)) continue;
    const ArrayElements array = arrays_->operand(request, i, before++);
    Owner& out = aliases_->owners()[owners.out];
    aliases_->owners().for_each_part(owners.operands[i], [&](Owner& owner) {
      if (&owner == &out) touch(out, group, array);
    });
  }
}

void Groups::touch(Owner& owner, std::uint32_t group,
                   const ArrayElements& array) {
  if (owner.toucher == kNone) {
    owner.toucher = group;
    owner.array = array;
  } else if (owner.toucher != kMany && root(owner.toucher) == group) {
    owner.is_one_array =
        owner.is_one_array && arrays_->is_same(owner.array, array);
  } else {
    owner.toucher = kMany;
  }
}

}  // namespace gpuos::requests
