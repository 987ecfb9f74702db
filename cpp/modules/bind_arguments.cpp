#include "modules/bind_arguments.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>

#include "base/concat.h"
#include "gpuos/error.h"

namespace gpuos::cu {
namespace {

using Kind = KernelArg::Kind;

enum class Takes : std::uint8_t { Anything, Pointer, Integer, Real, Struct };

Takes what_takes(std::string_view type) {
  if (type.empty()) return Takes::Anything;
  if (type.ends_with('*')) return Takes::Pointer;
  if (type == "float" || type == "double") return Takes::Real;
  constexpr std::array<std::string_view, 13> kIntegers{
      "bool",   "char",           "signed char", "unsigned char",
      "short",  "unsigned short", "int",         "unsigned int",
      "long",   "unsigned long",  "long long",   "unsigned long long",
      "wchar_t"};
  if (std::ranges::find(kIntegers, type) != kIntegers.end())
    return Takes::Integer;
  return Takes::Struct;
}

bool is_integer(const KernelArg& arg) {
  return arg.type == "bool" || arg.type.starts_with("int") ||
         arg.type.starts_with("uint");
}

bool is_real(const KernelArg& arg) {
  return arg.type == "float32" || arg.type == "float64";
}

// Returns whether a value of this size may be the parameter's type.
bool is_of_kind(const KernelArg& arg, Takes takes) {
  switch (takes) {
    case Takes::Pointer:
      // An address may come as an integer.
      return arg.kind == Kind::Pointer || is_integer(arg) ||
             arg.kind == Kind::Number;
    case Takes::Integer:
      return arg.kind != Kind::Pointer && !is_real(arg);
    case Takes::Real:
      return arg.kind != Kind::Pointer && !is_integer(arg);
    case Takes::Struct:
      // A half, an enumeration, a struct: which bytes is for the caller to say.
      return arg.kind != Kind::Number;
    default:
      return true;
  }
}

bool fits_integer(std::int64_t value, bool is_above_int64, std::size_t bytes) {
  if (bytes >= 8) return true;
  if (is_above_int64) return false;
  const int bits = static_cast<int>(8 * bytes);
  return value >= -(std::int64_t{1} << (bits - 1)) &&
         value < (std::int64_t{1} << bits);
}

// Returns the names of the short floats of this size: "float16 or bfloat16".
std::string short_floats_of(std::size_t bytes) {
  std::string names;
  for (std::size_t k = 0; k < kDTypeCount; ++k) {
    const auto dtype = static_cast<DType>(k);
    if (is_short_float(dtype) && size_of(dtype) == bytes)
      names += concat(names.empty() ? "" : " or ", name_of(dtype));
  }
  return names;
}

const char* what_is(const Scalar& number) {
  if (number.is_complex()) return "a complex number";
  return number.is_integer() ? "an integer" : "a real number";
}

// Where the two disagree, as for an empty struct, sizes alone count.
std::string type_of(const ParameterList& parameters, std::size_t i) {
  const auto& [bytes, types] = parameters;
  if (!types || (bytes && types->size() != bytes->size())) return "";
  return i < types->size() ? (*types)[i] : "";
}

std::string without_const(std::string type) {
  constexpr std::string_view kConst = " const";
  for (auto at = type.find(kConst); at != type.npos; at = type.find(kConst))
    type.erase(at, kConst.size());
  return type;
}

class Binder {
 public:
  Binder(const std::string& kernel, const ParameterList& parameters,
         const KernelArgs& args)
      : kernel_(kernel), parameters_(parameters), args_(args) {}

  void check_count() const {
    const auto& bytes = parameters_.bytes;
    if (bytes && bytes->size() != args_.size()) mismatch();
  }

  // 0: unknown
  std::size_t bytes_of(std::size_t i) const {
    return parameters_.bytes ? (*parameters_.bytes)[i] : 0;
  }

  std::uint64_t bits_of(std::size_t i, const KernelArg& arg) const {
    const std::size_t bytes = bytes_of(i);
    const Takes takes = what_takes(type_of(parameters_, i));
    check_kind(arg, takes);
    // A complex number is two values, so a struct must give their bytes.
    if (arg.number.is_complex()) mismatch();
    const bool is_real = takes == Takes::Real ||
                         (takes == Takes::Anything && !arg.number.is_integer());
    return is_real ? real_bits(i, arg.number, bytes)
                   : integer_bits(i, arg.number, bytes);
  }

  void check_value(std::size_t i, const KernelArg& arg) const {
    if (bytes_of(i) != 0 && bytes_of(i) != arg.bytes) mismatch();
    check_kind(arg, what_takes(type_of(parameters_, i)));
  }

 private:
  void check_kind(const KernelArg& arg, Takes takes) const {
    if (!is_of_kind(arg, takes)) mismatch();
  }

  std::uint64_t integer_bits(std::size_t i, const Scalar& number,
                             std::size_t bytes) const {
    const double real = number.real();
    const bool is_whole = number.is_integer() || (real == std::trunc(real) &&
                                                  std::fabs(real) < 0x1p63);
    if (!is_whole || bytes > 8) mismatch();
    const std::int64_t value = number.is_integer()
                                   ? number.integer()
                                   : static_cast<std::int64_t>(real);
    const bool is_above = number.is_above_int64();
    if (!fits_integer(value, is_above, bytes == 0 ? 8 : bytes))
      throw InvalidArgument(
          concat(kernel_, ": argument ", i, ": expected an integer of ", bytes,
                 " bytes, got ",
                 is_above ? std::to_string(static_cast<std::uint64_t>(value))
                          : std::to_string(value)));
    return static_cast<std::uint64_t>(value);
  }

  std::uint64_t real_bits(std::size_t i, const Scalar& number,
                          std::size_t bytes) const {
    if (bytes == 4)
      return std::bit_cast<std::uint32_t>(static_cast<float>(number.real()));
    if (bytes == 8) return std::bit_cast<std::uint64_t>(number.real());
    if (const std::string names = short_floats_of(bytes); !names.empty())
      throw InvalidArgument(
          concat(kernel_, ": argument ", i, ": expected a ", names,
                 " value, got a plain number, which may mean either"));
    mismatch();
  }

  [[noreturn]] void mismatch() const {
    throw InvalidArgument(
        concat(kernel_, ": expected ",
               parameters_.bytes ? text_of(parameters_) : "other arguments",
               ", got ", given()));
  }

  std::string given() const {
    std::string text;
    for (const KernelArg& arg : args_.values()) {
      text += text.empty() ? "(" : ", ";
      text += arg.kind == Kind::Number
                  ? what_is(arg.number)
                  : concat(arg.type, ": ", arg.bytes, " bytes");
    }
    return text.empty() ? "()" : text + ")";
  }

  const std::string& kernel_;
  const ParameterList& parameters_;
  const KernelArgs& args_;
};

}  // namespace

std::string text_of(const ParameterList& parameters) {
  const auto& [bytes, types] = parameters;
  if (!bytes && !types) return "(...)";
  std::string text;
  const std::size_t count = bytes ? bytes->size() : types->size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string type = type_of(parameters, i);
    text +=
        concat(i == 0 ? "" : ", ", type, type.empty() || !bytes ? "" : ": ");
    if (bytes) text += concat((*bytes)[i], " bytes");
  }
  return concat("(", text, ")");
}

bool take_the_same(const ParameterList& a, const ParameterList& b) {
  if (a.bytes && b.bytes && *a.bytes != *b.bytes) return false;
  if (!a.types || !b.types) return true;
  return std::ranges::equal(*a.types, *b.types, {}, without_const,
                            without_const);
}

BoundArguments::BoundArguments(const std::string& kernel,
                               const ParameterList& parameters,
                               const KernelArgs& args) {
  const Binder binder(kernel, parameters, args);
  binder.check_count();
  pointers_.reserve(args.size());
  for (const KernelArg& arg : args.values()) {
    const std::size_t i = pointers_.size();
    if (arg.kind == Kind::Number) {
      pointers_.push_back(&numbers_.emplace_back(binder.bits_of(i, arg)));
    } else {
      binder.check_value(i, arg);
      // The driver only reads it.
      pointers_.push_back(const_cast<void*>(arg.data()));  // NOLINT
    }
  }
}

}  // namespace gpuos::cu
