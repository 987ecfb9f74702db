#include "queue/fault_message.h"

#include "base/concat.h"

namespace gpuos {
namespace {

static_assert(abi::kOtherType >= kDTypeCount, "the number of none");

std::string type_name(std::uint32_t type) {
  return type < kDTypeCount ? std::string(name_of(static_cast<DType>(type)))
                            : "another type";
}

std::string label(const abi::Fault& fault, const CheckedOperator& op,
                  std::uint32_t buffers) {
  const std::uint32_t index = fault.argument;
  std::string name;
  if (fault.kind != abi::kIndexFault && index >= buffers)
    name = op.params[index - buffers].name;
  else if (index < op.names.size())
    name = op.names[index];
  if (name.empty()) name = index == 0 ? "out" : concat("input ", index - 1);
  return concat("argument ", index, " ('", name, "')");
}

std::string access(const abi::Fault& fault, const CheckedOperator& op) {
  const bool is_buffer = fault.argument < fault.buffers;
  const std::string as = type_name(fault.type);
  const std::string is = std::string(name_of(
      is_buffer ? op.dtype : op.params[fault.argument - fault.buffers].dtype));
  const bool is_read_as_buffer = fault.kind == abi::kPointerFault;
  const auto noun = [](bool is_array) {
    return is_array ? "an array of " : "a scalar of ";
  };
  return concat(label(fault, op, fault.buffers), ": read as ",
                noun(is_read_as_buffer), as, ", but it is ", noun(is_buffer),
                is);
}

std::string what(const abi::Fault& fault, const CheckedOperator& op) {
  const std::size_t arguments = fault.buffers + op.params.size();
  switch (fault.kind) {
    case abi::kIndexFault:
      return concat(label(fault, op, 0), ": index ", fault.index,
                    " is outside of its ", fault.extent, " elements");
    case abi::kAssertFault:
      return concat("assertion '", fault.text, "' failed");
    default:
      if (fault.argument < arguments) return access(fault, op);
      return concat("argument ", fault.argument, ": there are ", arguments,
                    " arguments");
  }
}

}  // namespace

std::string message_of(const abi::Fault& fault, const CheckedOperator& op) {
  return concat("operator '", op.name,
                fault.kind == abi::kAssertFault ? "': " : "', ",
                what(fault, op), " (line ", fault.line, " of its source)");
}

}  // namespace gpuos
