#include "rig.h"

#include <algorithm>
#include <string>

#include "timing.h"

namespace gpuos::bench {
namespace {

constexpr float kPoison = -1e30F;

}  // namespace

void check_right(std::uint64_t wrong, const std::string& what) {
  if (wrong > 0)
    throw Error(what + ": expected 0 wrong elements, came " +
                std::to_string(wrong));
}

std::vector<float> random_floats(std::size_t count, std::uint32_t seed) {
  std::vector<float> values(count);
  std::uint32_t state = seed | 1u;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = 0.5F + static_cast<float>(state >> 8) * 0x1p-24F;
  }
  return values;
}

Rig::Rig(const RuntimeOptions& options, std::size_t sets, std::int64_t elems)
    : runtime_(options),
      add_(runtime_.find("add")),
      sets_(sets),
      stride_(static_cast<std::size_t>(elems)) {
  const std::size_t count = sets_ * stride_;
  const std::size_t bytes = count * sizeof(float);
  out_ = runtime_.allocate(bytes);
  a_ = runtime_.allocate(bytes);
  b_ = runtime_.allocate(bytes);
  host_a_ = random_floats(count, 1);
  host_b_ = random_floats(count, 77);
  runtime_.copy_to_device(a_.get(), host_a_.data(), bytes);
  runtime_.copy_to_device(b_.get(), host_b_.data(), bytes);
  poison();
}

std::uint64_t Rig::address(const Buffer& base, std::size_t task) const {
  return reinterpret_cast<std::uint64_t>(base.get()) +
         task % sets_ * stride_ * sizeof(float);
}
std::uint64_t Rig::out_address(std::size_t task) const {
  return address(out_, task);
}
std::uint64_t Rig::a_address(std::size_t task) const {
  return address(a_, task);
}
std::uint64_t Rig::b_address(std::size_t task) const {
  return address(b_, task);
}

std::array<TensorView, 3> Rig::views(std::size_t task,
                                     std::int64_t elems) const {
  check_elems(elems);
  const auto view = [&](std::uint64_t address) {
    return TensorView(reinterpret_cast<float*>(address), elems);
  };
  return {view(a_address(task)), view(b_address(task)),
          view(out_address(task))};
}

void Rig::check_elems(std::int64_t elems) const {
  if (elems < 1 || static_cast<std::size_t>(elems) > stride_)
    throw InvalidArgument("Rig: elems: expected 1 to " +
                          std::to_string(stride_) + ", got " +
                          std::to_string(elems));
}

ManyTasks Rig::many(std::size_t tasks, std::int64_t elems, std::size_t first) {
  check_elems(elems);
  first %= sets_;
  for (std::size_t i = out_addresses_.size(); i < first + tasks; ++i) {
    out_addresses_.push_back(out_address(i));
    a_addresses_.push_back(a_address(i));
    b_addresses_.push_back(b_address(i));
  }
  ManyTasks many;
  many.tasks = tasks;
  many.out.addresses = out_addresses_.data() + first;
  many.inputs.resize(2);
  many.inputs[0].addresses = a_addresses_.data() + first;
  many.inputs[1].addresses = b_addresses_.data() + first;
  many.size = elems;
  return many;
}

void Rig::poison() {
  const std::vector<float> values(sets_ * stride_, kPoison);
  runtime_.copy_to_device(out_.get(), values.data(),
                          values.size() * sizeof(float));
}

std::uint64_t Rig::count_wrong(std::size_t sets, std::int64_t elems) {
  check_elems(elems);
  std::vector<float> got(sets_ * stride_);
  runtime_.copy_to_host(got.data(), out_.get(), got.size() * sizeof(float));
  const auto written = static_cast<std::size_t>(elems);
  std::uint64_t wrong = 0;
  for (std::size_t set = 0; set < std::min(sets, sets_); ++set) {
    for (std::size_t i = 0; i < stride_; ++i) {
      const std::size_t at = set * stride_ + i;
      const float expected = i < written ? host_a_[at] + host_b_[at] : kPoison;
      wrong += got[at] != expected ? 1 : 0;
    }
  }
  return wrong;
}

void Rig::wait(const Ticket& ticket) {
  if (!runtime_.wait(ticket, kDeadline))
    throw Timeout("wait: expected the tasks within " +
                  std::to_string(kDeadline.count()) + " s");
}

void Rig::synchronize() {
  if (!runtime_.synchronize(kDeadline))
    throw Timeout("synchronize: expected the tasks within " +
                  std::to_string(kDeadline.count()) + " s");
}

}  // namespace gpuos::bench
