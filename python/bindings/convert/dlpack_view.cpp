#include "convert/dlpack_view.h"

#include <Python.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>

#include "convert/reading.h"
#include "module/pybind_objects.h"
#include "module/python_module.h"

namespace py = pybind11;

namespace gpuos::python {
namespace {

constexpr char kExchangeAttribute[] = "__dlpack_c_exchange_api__";
constexpr char kExchangeCapsule[] = "dlpack_exchange_api";

/// Holds the functions at which the exchange capsule of a type points. It lives
/// as long as the process. The functions need the GIL. If they do not return 0,
/// they set a Python error. They synchronise nothing.
struct ExchangeApi {
  std::uint32_t major;
  std::uint32_t minor;
  const ExchangeApi* previous;  // an older major version, or null
  void (*allocate)();           // not called here, nor is `to_object`
  int (*to_managed)(void* object, dlpack::ManagedVersioned** out);
  void (*to_object)();
  int (*to_tensor)(void* object,
                   dlpack::Tensor* out);  // may be null; owns nothing
  void (*current_stream)();               // not called here
};

// Describes an object's memory as the C functions of its type do, by DLPack's
// exchange API. It is not valid if there are no functions or if they fail. It
// is also not valid for a tensor that needs a gradient, because the functions
// would not refuse it.
///
// Lifetime: the description is valid as long as this and the object are. The
// memory is valid as long as the object.
// Threads: the GIL is held when it is made and destroyed.
class Exchanged {
 public:
  /// Reads the description. Only with `is_written` it knows if the memory is
  /// read-only.
  Exchanged(PyObject* object, bool is_written) noexcept;
  ~Exchanged();
  Exchanged(const Exchanged&) = delete;
  Exchanged& operator=(const Exchanged&) = delete;

  bool is_valid() const noexcept { return is_valid_; }
  const dlpack::Tensor& tensor() const noexcept { return tensor_; }
  bool is_read_only() const noexcept {
    return managed_ != nullptr &&
           (managed_->flags & dlpack::kReadOnlyFlag) != 0;
  }

 private:
  bool read(const ExchangeApi& api, PyObject* object, bool is_written);

  dlpack::Tensor tensor_;
  dlpack::ManagedVersioned* managed_ = nullptr;  // owned
  bool is_valid_ = false;
};

struct KnownType {
  PyTypeObject* type = nullptr;  // owned: a new type must not get its address
  const ExchangeApi* api = nullptr;
  bool has_gradients = false;
};

PyObject* requires_grad_name() {
  return made_once([] { return PyUnicode_InternFromString("requires_grad"); });
}

const ExchangeApi* api_from(const py::object& capsule) {
  if (PyCapsule_IsValid(capsule.ptr(), kExchangeCapsule) == 0) return nullptr;
  const auto* api = static_cast<const ExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), kExchangeCapsule));
  while (api != nullptr && api->major != dlpack::kMajorVersion)
    api = api->previous;
  return api;
}

// A class with one of these wants callers to use it, or has no memory of its
// own. Inherited functions do not know that.
constexpr std::array kOwnWays = {"__dlpack__", "__dlpack_device__",
                                 "__torch_dispatch__"};

const ExchangeApi* find_api(const py::type& type) {
  for (const py::handle base : type.attr("__mro__")) {
    const py::object names = base.attr("__dict__");
    if (names.contains(kExchangeAttribute))
      return api_from(type.attr(kExchangeAttribute));
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

Exchanged::Exchanged(PyObject* object, bool is_written) noexcept {
  const KnownType known = known_type(Py_TYPE(object));
  if (known.api == nullptr) return;
  if (known.has_gradients && needs_gradient(object)) return;
  is_valid_ = read(*known.api, object, is_written);
  if (!is_valid_) PyErr_Clear();
}

bool Exchanged::read(const ExchangeApi& api, PyObject* object,
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

void check_version(std::uint32_t major, Role role) {
  if (major == dlpack::kMajorVersion) return;
  refuse(role, "DLPack of version " + std::to_string(dlpack::kMajorVersion),
         "version " + std::to_string(major));
}

// Checks the device, because a producer may report another one with
// __dlpack_device__.
void check_place(const MemoryKind& wanted, dlpack::DlpackDevice device,
                 Role role) {
  if (dlpack::is_in(wanted, device)) return;
  refuse(role, "memory on the device that __dlpack_device__ returns",
         "DLPack device type " + std::to_string(device.type) + ", number " +
             std::to_string(device.id));
}

bool is_true(PyObject* object, const char* method) {
  return has_attribute(object, method) &&
         truth_of(py::object(py::handle(object).attr(method)()));
}

// Refuses marked tensors. PyTorch's conj() and the imag of its result only mark
// a tensor, and DLPack does not tell. Such an imag has gaps or a single
// element.
void check_unmarked(PyObject* object, const TensorView& view, Role role) {
  const bool may_be_marked =
      view.has_strides || is_complex(view.dtype) || view.size() == 1;
  if (!may_be_marked) return;
  if (is_true(object, "is_conj") || is_true(object, "is_neg")) {
    refuse(role, "a tensor without pending conjugation or negation",
           "one with it; pass "
           "tensor.resolve_conj().resolve_neg()");
  }
}

py::object call_dlpack(PyObject* object, bool is_cuda) {
  const py::object method =
      py::reinterpret_borrow<py::object>(object).attr("__dlpack__");
  py::dict options;
  // -1 means no synchronisation, because the caller orders streams.
  if (is_cuda) options["stream"] = -1;
  try {
    return method(py::arg("max_version") = py::make_tuple(
                      dlpack::kMajorVersion, dlpack::kMinorVersion),
                  **options);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return method(**options);  // a producer from before version 1
}

py::object dlpack_capsule(PyObject* object, bool is_cuda, Role role) {
  try {
    return call_dlpack(object, is_cuda);
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_BufferError)) throw;
    refuse(role, "an array that DLPack can share",
           type_text(object) + ": " + shown(error.value()));
  }
}

}  // namespace

MemoryKind memory_of(PyObject* object) {
  if (!has_attribute(object, "__dlpack_device__")) return {};
  constexpr char kWhat[] = "__dlpack_device__";
  const py::object given =
      py::reinterpret_borrow<py::object>(object).attr(kWhat)();
  const py::tuple place = items_of(given, kWhat);
  if (place.size() != 2) refuse_type(kWhat, "two integers", given);
  return dlpack::memory_of(
      {integer_as<int>(place[0], kWhat), integer_as<int>(place[1], kWhat)});
}

ForeignView view_exchanged(PyObject* object, const MemoryKind& wanted,
                           Role role) {
  const bool is_written = role.input < 0;
  const Exchanged found(object, is_written);
  if (!found.is_valid() || !dlpack::is_in(wanted, found.tensor().device))
    return {};
  ForeignView foreign;
  foreign.view = dlpack::view_of(found.tensor(), role);
  check_unmarked(object, foreign.view, role);
  foreign.view.read_only = found.is_read_only();
  foreign.keep = py::reinterpret_borrow<py::object>(object);
  return foreign;
}

ForeignView view_dlpack(PyObject* object, const MemoryKind& wanted, Role role) {
  ForeignView foreign;
  // No code consumes the capsule, so its destructor gives the memory back.
  foreign.keep = dlpack_capsule(object, wanted.is_cuda, role);
  const CapsuleContent found = dlpack_of(foreign.keep.ptr());
  if (found.versioned != nullptr) check_version(found.versioned->major, role);
  check_place(wanted, found.tensor->device, role);
  foreign.view = dlpack::view_of(*found.tensor, role);
  check_unmarked(object, foreign.view, role);
  foreign.view.read_only =
      found.versioned != nullptr &&
      (found.versioned->flags & dlpack::kReadOnlyFlag) != 0;
  return foreign;
}

CapsuleContent dlpack_of(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kVersionedCapsule) != 0) {
    const auto* managed = static_cast<const dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule, kVersionedCapsule));
    return {&managed->tensor, managed};
  }
  const auto* managed = static_cast<const dlpack::Managed*>(
      PyCapsule_GetPointer(capsule, kCapsule));
  if (managed == nullptr) throw py::error_already_set();
  return {&managed->tensor, nullptr};
}

}  // namespace gpuos::python
