#include "dlpack_exchange.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <utility>

#include "made_once.h"
#include "pybind_objects.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

struct KnownType {
  PyTypeObject* type = nullptr;  // owned: a new type must not get its address
  const dlpack::ExchangeApi* api = nullptr;
  bool has_gradients = false;
};

PyObject* requires_grad_name() {
  return made_once([] { return PyUnicode_InternFromString("requires_grad"); });
}

const dlpack::ExchangeApi* api_from(const py::object& capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), dlpack::kExchangeCapsule) == 0)
    return nullptr;
  const auto* api = static_cast<const dlpack::ExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), dlpack::kExchangeCapsule));
  while (api != nullptr && api->major != dlpack::kMajorVersion)
    api = api->previous;
  return api;
}

// A class with one of these wants callers to use it, or has no memory of its
// own. Inherited functions do not know that.
constexpr std::array kOwnWays = {"__dlpack__", "__dlpack_device__",
                                 "__torch_dispatch__"};

const dlpack::ExchangeApi* find_api(const py::type& type) {
  for (const py::handle base : type.attr("__mro__")) {
    const py::object names = base.attr("__dict__");
    if (names.contains(dlpack::kExchangeAttribute))
      return api_from(type.attr(dlpack::kExchangeAttribute));
    if (std::any_of(kOwnWays.begin(), kOwnWays.end(),
                    [&](const char* way) { return names.contains(way); }))
      return nullptr;
  }
  return nullptr;
}

KnownType look_up(PyTypeObject* type) noexcept {
  const auto object =
      py::reinterpret_borrow<py::type>(reinterpret_cast<PyObject*>(type));
  KnownType known{type};
  try {
    known.api = find_api(object);
    known.has_gradients = py::hasattr(object, requires_grad_name());
  } catch (const std::exception&) {
    known.api = nullptr;
  }
  Py_INCREF(type);
  return known;
}

// Finds a type by its address. The table is never destroyed, because the types
// may be gone at exit.
KnownType known_type(PyTypeObject* type) noexcept {
  constexpr std::size_t kKnownTypes = 64;
  constexpr unsigned kObjectAlignmentBits = 4;
  static std::array<KnownType, kKnownTypes> all;
  const std::size_t slot =
      (reinterpret_cast<std::uintptr_t>(type) >> kObjectAlignmentBits) %
      kKnownTypes;
  if (all[slot].type == type) return all[slot];
  const KnownType known = look_up(type);
  // Releasing the other type may run code that calls this function again.
  const KnownType other = std::exchange(all[slot], known);
  Py_XDECREF(other.type);
  return known;
}

bool needs_gradient(PyObject* object) noexcept {
  const auto value = py::reinterpret_steal<py::object>(
      PyObject_GetAttr(object, requires_grad_name()));
  if (!value) PyErr_Clear();
  return value.ptr() != Py_False;
}

}  // namespace

Exchanged::Exchanged(PyObject* object, bool is_written) noexcept {
  const KnownType known = known_type(Py_TYPE(object));
  if (known.api == nullptr) return;
  if (known.has_gradients && needs_gradient(object)) return;
  is_valid_ = read(*known.api, object, is_written);
  if (!is_valid_) PyErr_Clear();
}

bool Exchanged::read(const dlpack::ExchangeApi& api, PyObject* object,
                     bool is_written) {
  // A plain tensor is cheaper but has no flags.
  if (!is_written && api.to_tensor != nullptr)
    return api.to_tensor(object, &tensor_) == 0;
  if (api.to_managed(object, &managed_) != 0) {
    managed_ = nullptr;
    return false;
  }
  if (managed_->major != dlpack::kMajorVersion) return false;
  tensor_ = managed_->tensor;
  return true;
}

Exchanged::~Exchanged() {
  if (managed_ != nullptr && managed_->deleter != nullptr)
    managed_->deleter(managed_);
}

}  // namespace gpuos::python
