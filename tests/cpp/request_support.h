#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "contract.h"
#include "gpuos/requests.h"
#include "pytorch/functions.h"

namespace gpuos {

using bridge::Function;
using bridge::is_reducing;
using bridge::is_row_function;

/// An operand of a request: an array, or a number.
struct RequestOperand {
  TensorView view;
  const void* owner = nullptr;
  bool is_number = false;
  bool is_integer = false;
  std::uint64_t bits = 0;

  RequestOperand(const TensorView& array, const void* of)
      : view(array), owner(of) {}
  RequestOperand(double number) : is_number(true) {
    std::memcpy(&bits, &number, sizeof(bits));
  }
  RequestOperand(int number)
      : is_number(true),
        is_integer(true),
        bits(static_cast<std::uint64_t>(static_cast<std::int64_t>(number))) {}
};

/// Collects requests as a bridge does.
class RequestList {
 public:
  struct Options {
    bool is_fresh = false;
    DType compute = DType::Float32;
    std::uint8_t axes = 0;
    bool keepdims = false;
  };

  Request& add(Function function, const RequestOperand& out,
               std::initializer_list<RequestOperand> operands,
               const Options& options) {
    return add(function, out, std::span(operands.begin(), operands.size()),
               options);
  }
  Request& add(Function function, const RequestOperand& out,
               std::initializer_list<RequestOperand> operands) {
    return add(function, out, operands, Options());
  }
  Request& add(Function function, const RequestOperand& out,
               std::span<const RequestOperand> operands,
               const Options& options) {
    Request request;
    request.function = bridge::function_of(function);
    request.operands = static_cast<std::uint8_t>(operands.size());
    request.is_fresh = options.is_fresh;
    request.compute = options.compute;
    request.out_dtype = out.view.dtype;
    request.axes = options.axes;
    request.keepdims = options.keepdims;
    request.elems = static_cast<std::uint64_t>(out.view.size());
    request.out = out.view.data;
    request.out_owner = out.owner;
    for (std::size_t i = 0; i < operands.size(); ++i)
      set_operand(request, i, operands[i]);
    if (is_row_function(function) || !is_flat(out, operands)) {
      request.views = static_cast<std::uint32_t>(views_.size());
      views_.push_back(out.view);
      for (const RequestOperand& operand : operands)
        if (!operand.is_number) views_.push_back(operand.view);
    }
    requests_.push_back(request);
    return requests_.back();
  }

  const std::vector<Request>& requests() const { return requests_; }
  const std::vector<TensorView>& views() const { return views_; }
  void run(RequestRunner& runner, StillNeeded needed = {},
           bool owners_lie_apart = false) const {
    runner.run(requests_, views_, needed, {}, owners_lie_apart);
  }
  void clear() {
    requests_.clear();
    views_.clear();
  }

 private:
  static void set_operand(Request& request, std::size_t i,
                          const RequestOperand& operand) {
    const auto bit = static_cast<std::uint8_t>(1 << i);
    if (operand.is_number) {
      request.numbers |= bit;
      request.values[i] = operand.bits;
      if (operand.is_integer) request.integers |= bit;
      return;
    }
    request.values[i] = reinterpret_cast<std::uint64_t>(operand.view.data);
    request.dtypes[i] = operand.view.dtype;
    request.owners[i] = operand.owner;
  }
  static bool is_flat(const RequestOperand& out,
                      std::span<const RequestOperand> operands) {
    if (!out.view.is_contiguous()) return false;
    for (const RequestOperand& operand : operands)
      if (!operand.is_number && (!operand.view.is_contiguous() ||
                                 operand.view.size() != out.view.size()))
        return false;
    return true;
  }

  std::vector<Request> requests_;
  std::vector<TensorView> views_;
};

/// Runs one request alone.
inline void run_request(Runtime& runtime, Function function,
                        const RequestOperand& out,
                        const std::vector<RequestOperand>& operands,
                        const RequestList::Options& options = {}) {
  RequestList list;
  list.add(function, out, operands, options);
  RequestRunner runner(runtime);
  list.run(runner);
}

/// Returns an operand of all bytes of an array.
template <typename T>
RequestOperand operand_of(const DeviceArray<T>& array, DType dtype) {
  const std::size_t size = array.size() * sizeof(T) / size_of(dtype);
  return {TensorView(array.data(), static_cast<std::int64_t>(size), dtype),
          array.data()};
}

}  // namespace gpuos
