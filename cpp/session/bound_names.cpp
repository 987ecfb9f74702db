#include "session/bound_names.h"

#include <cstdint>
#include <cstring>
#include <limits>

#include "base/concat.h"

namespace gpuos::session {
namespace {

constexpr const char* kPointer = "const ::gpuos_host::DevicePointer";

// Returns the type in host code, or an empty text for a type that host code
// cannot have.
std::string type_of(const KernelArg& value) {
  static const std::map<std::string, std::string> types{
      {"bool", "bool"},
      {"int8", "signed char"},
      {"int16", "short"},
      {"int32", "int"},
      {"int64", "long long"},
      {"uint8", "unsigned char"},
      {"uint16", "unsigned short"},
      {"uint32", "unsigned int"},
      {"uint64", "unsigned long long"},
      {"float32", "float"},
      {"float64", "double"}};
  if (value.kind == KernelArg::Kind::Pointer) return kPointer;
  if (value.kind == KernelArg::Kind::Number) {
    const Scalar& number = value.number;
    if (number.is_complex()) return "";
    if (!number.is_integer()) return "const double";
    if (number.is_above_int64()) return "const unsigned long long";
    const std::int64_t integer = number.integer();
    const bool is_int = integer >= std::numeric_limits<int>::min() &&
                        integer <= std::numeric_limits<int>::max();
    return is_int ? "const int" : "const long long";
  }
  const auto found = types.find(value.type);
  return found == types.end() ? "" : "const " + found->second;
}

template <typename T, typename Bytes>
void store(T value, Bytes& bytes) {
  std::memcpy(bytes.data(), &value, sizeof value);
}

template <typename Bytes>
void write_value(const KernelArg& value, const std::string& type,
                 Bytes& bytes) {
  if (value.kind != KernelArg::Kind::Number) {
    std::memcpy(bytes.data(), value.data(),
                std::min(bytes.size(), value.bytes));
  } else if (type == "const double") {
    store(value.number.real(), bytes);
  } else if (type == "const int") {
    store(static_cast<int>(value.number.integer()), bytes);
  } else {
    store(value.number.integer(), bytes);
  }
}

// A place of long long or double can hold an int too.
bool fits(const std::string& type, const std::string& place) {
  return type == place || (type == "const int" && place == "const long long") ||
         (type == "const int" && place == "const double");
}

}  // namespace

std::optional<BoundName> BoundNames::find(const std::string& name) {
  const auto bound = bindings_.values.find(name);
  if (bound == bindings_.values.end()) return std::nullopt;
  const std::string type = type_of(bound->second);
  if (type.empty()) return std::nullopt;
  std::unique_ptr<Place>& place = places_[{name, type}];
  if (place == nullptr) place = std::make_unique<Place>();
  write_value(bound->second, type, place->bytes);
  return BoundName{
      concat("static ", type, "& ", name, " = ::gpuos_host::at<", type, ">(",
             reinterpret_cast<std::uintptr_t>(place.get()), "ull);")};
}

void BoundNames::refresh() {
  for (auto& [key, place] : places_) {
    const auto bound = bindings_.values.find(key.first);
    if (bound == bindings_.values.end()) continue;
    if (fits(type_of(bound->second), key.second))
      write_value(bound->second, key.second, place->bytes);
  }
}

}  // namespace gpuos::session
