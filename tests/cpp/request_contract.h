#pragma once

#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "request_support.h"

namespace gpuos {

inline constexpr std::size_t kSize = 100;
inline constexpr float kPoison = -77;

/// The owners that are still needed, and the number of queries for each.
struct Needs {
  std::set<const void*> needed{};
  std::vector<const void*> asked{};
  std::uint32_t uses = 0;

  StillNeeded ask() {
    return {[](void* context, const void* owner, std::uint32_t uses) {
              auto& needs = *static_cast<Needs*>(context);
              needs.asked.push_back(owner);
              needs.uses = uses;
              return needs.needed.contains(owner);
            },
            this};
  }
};

class RequestContract : public Contract {
 protected:
  void SetUp() override {
    Contract::SetUp();
    if (runtime_ != nullptr) runner_.emplace(runtime());
  }
  void TearDown() override { runner_.reset(); }

  DeviceArray<float>& make(float value) {
    return *arrays_.emplace_back(
        std::make_unique<DeviceArray<float>>(runtime(), kSize, value));
  }
  template <typename>
  using Made = DeviceArray<float>&;
  /// Makes an array of each value.
  template <typename... Values>
  std::tuple<Made<Values>...> make_each(Values... values) {
    return {make(static_cast<float>(values))...};
  }
  static RequestOperand whole(const DeviceArray<float>& array) {
    return {array.view(), array.data()};
  }
  static RequestOperand part(const DeviceArray<float>& array, std::size_t first,
                             std::size_t count) {
    return {array.view(first, count), array.data()};
  }
  static RequestOperand matrix(const DeviceArray<float>& array,
                               std::int64_t rows, std::int64_t columns,
                               std::int64_t row_stride,
                               std::int64_t column_stride) {
    return {shaped(array.view(), {rows, columns}, {row_stride, column_stride}),
            array.data()};
  }
  void run(Needs* needs = nullptr) {
    list_.run(*runner_, needs == nullptr ? StillNeeded{} : needs->ask());
    list_.clear();
  }
  /// Only these arrays are needed later.
  void run_for(std::initializer_list<const DeviceArray<float>*> needed) {
    Needs needs;
    for (const auto* array : needed) needs.needed.insert(array->data());
    run(&needs);
  }
  std::uint64_t tasks() const { return runner_->stats().tasks; }
  static void expect_all(const DeviceArray<float>& array, float value) {
    const auto values = array.read();
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], value) << "element " << i;
  }

  std::optional<RequestRunner> runner_;
  RequestList list_;
  std::vector<std::unique_ptr<DeviceArray<float>>> arrays_;
};

inline constexpr RequestList::Options kFresh{.is_fresh = true};

}  // namespace gpuos
