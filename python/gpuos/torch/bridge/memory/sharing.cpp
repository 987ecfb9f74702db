#include "memory/sharing.h"

#include <ATen/MapAllocator.h>
#include <ATen/dlpack.h>
#include <Python.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <typeinfo>
#include <unordered_map>

#include "memory/slabs.h"
#include "pytorch/patches.h"
#include "pytorch/python.h"

namespace gpuos::bridge {

std::atomic<std::uint32_t> lent_capsules{0};

namespace {

using c10::StorageImpl;
using FunctionContext = c10::InefficientStdFunctionContext;

// ---- memory that PyTorch lends

/// A storage whose memory an array of NumPy was seen to take.
struct Lent {
  c10::weak_intrusive_ptr<StorageImpl> storage;
  std::uint32_t arrays = 0;  // the arrays that exist now
};

std::mutex lending_mutex;
std::unordered_map<const StorageImpl*, Lent> lent;  // under lending_mutex
std::size_t most_lent = 64;                         // under lending_mutex
std::atomic<std::uint32_t> lent_arrays{0};          // capsules too
// The deleter of blocks of PyTorch's allocator.
c10::DeleterFnPtr cpu_deleter = nullptr;
// The deleter of a storage's slice, from which torch.load(mmap=True) makes
// tensors. Its context is the whole storage. It is null if this PyTorch makes
// slices in another way.
c10::DeleterFnPtr slice_deleter = nullptr;

/// `is_known`: no array was taken before without being seen.
void lend(StorageImpl* storage, bool is_known) {
  const std::lock_guard lock(lending_mutex);
  if (lent.size() >= most_lent) {
    std::erase_if(lent, [](auto& one) { return one.second.storage.expired(); });
    most_lent = std::max(most_lent, 2 * lent.size());
  }
  auto found = lent.find(storage);
  if (found == lent.end()) {
    c10::raw::intrusive_ptr::incref(storage);
    const auto held = c10::intrusive_ptr<StorageImpl>::reclaim(storage);
    found =
        lent.emplace(storage, Lent{c10::weak_intrusive_ptr<StorageImpl>(held)})
            .first;
    if (!is_known) ++found->second.arrays;  // which may be there for ever
  }
  ++found->second.arrays;
  lent_arrays.fetch_add(1, std::memory_order_relaxed);
}

void take_back(const StorageImpl* storage) {
  const std::lock_guard lock(lending_mutex);
  --lent.at(storage).arrays;
  lent_arrays.fetch_sub(1, std::memory_order_relaxed);
}

/// `otherwise` is the result if no array of it was seen.
bool is_lent(const StorageImpl& storage, bool otherwise) {
  const std::lock_guard lock(lending_mutex);
  const auto found = lent.find(&storage);
  return found == lent.end() ? otherwise : found->second.arrays != 0;
}

// ---- NumPy's arrays

/// An array as NumPy's ABI has it.
struct Array {
  PyObject_HEAD char* data;
  int rank;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  PyObject* base;
  PyObject* dtype;
  int flags;

  static constexpr int kIsWriteable = 0x400;
};

// Null or an impossible value if NumPy's parts differ from the known ones. Then
// all memory from Python counts as shared.
PyTypeObject* array_type = nullptr;
std::array<const std::type_info*, 2> types_of_deleters{};
c10::DeleterFnPtr function_deleter = nullptr;

const Array* array_of(PyObject* object) {
  return array_type != nullptr && PyObject_TypeCheck(object, array_type)
             ? reinterpret_cast<const Array*>(object)
             : nullptr;
}

/// Borrowed. Returns null for any function except those of from_numpy() and
/// frombuffer(). These contain only the object that owns the memory.
PyObject* owner_of(const std::function<void(void*)>& deleter) {
  PyObject* owner = nullptr;
  for (const std::type_info* type : types_of_deleters)
    if (type != nullptr && deleter.target_type() == *type)
      std::memcpy(&owner, static_cast<const void*>(&deleter),
                  sizeof(PyObject*));
  return owner;
}

/// Returns whether weak references lead to an object. Its count does not have
/// them.
bool has_weak_references(PyObject* object) {
  const Py_ssize_t offset = Py_TYPE(object)->tp_weaklistoffset;
  if (offset <= 0) return false;
  PyObject* list = nullptr;
  std::memcpy(&list, reinterpret_cast<const char*>(object) + offset,
              sizeof(PyObject*));
  return list != nullptr;
}

/// Returns whether other code than its tensor can write to it. It needs no GIL:
/// owners of an object are visible, and only the tensor accesses its private
/// parts.
bool others_have(PyObject* owner) {
  bool is_fixed = false;  // it is not writable this way
  while (owner != nullptr) {
    PyObject* base = nullptr;
    if (PyBytes_CheckExact(owner)) return false;
    if (const Array* array = array_of(owner)) {
      is_fixed = (array->flags & Array::kIsWriteable) == 0;
      base = array->base;
    } else if (PyMemoryView_Check(owner)) {
      // Views of one buffer are independent of each other.
      is_fixed = PyMemoryView_GET_BUFFER(owner)->readonly != 0;
      if (!is_fixed) return true;
      base = PyMemoryView_GET_BASE(owner);
    } else if (is_fixed) {
      return std::strcmp(Py_TYPE(owner)->tp_name, "mmap.mmap") != 0;
    } else {
      return !PyByteArray_CheckExact(owner) || Py_REFCNT(owner) > 1;
    }
    const bool is_reached =
        Py_REFCNT(owner) > 1 || (!is_fixed && has_weak_references(owner));
    if (is_reached && !(is_fixed && base != nullptr)) return true;
    if (base == nullptr) return false;
    owner = base;
  }
  return true;
}

PyObject* array_ended(PyObject* storage, PyObject* reference) {
  take_back(static_cast<StorageImpl*>(PyLong_AsVoidPtr(storage)));
  Py_DECREF(reference);
  Py_RETURN_NONE;
}
PyMethodDef array_ended_definition{"array_ended", &array_ended, METH_O,
                                   nullptr};

StorageImpl* storage_of_object(PyObject* object) {
  if (object == nullptr || !THPVariable_Check(object)) return nullptr;
  const Tensor& tensor = THPVariable_Unpack(object);
  return tensor.has_storage() ? storage_of(tensor) : nullptr;
}

/// Lends the memory of a tensor's array until the array ends. `seen`: an
/// earlier array of this storage was seen.
void note_array(PyObject* object, const StorageImpl* seen) {
  const Array* array = array_of(object);
  StorageImpl* storage = storage_of_object(array ? array->base : nullptr);
  if (storage == nullptr) return;
  lend(storage, storage != seen);
  PyObject* address = PyLong_FromVoidPtr(storage);
  PyObject* callback = PyCFunction_New(&array_ended_definition, address);
  Py_XDECREF(address);
  // array_ended() gives the reference back.
  if (callback == nullptr || PyWeakref_NewRef(object, callback) == nullptr)
    PyErr_Clear();  // it stays lent
  Py_XDECREF(callback);
}

// ---- DLPack

/// Replaces PyTorch's context of a capsule until the consumer deletes it.
template <typename Managed>
struct Borrower {
  void* context;
  void (*deleter)(Managed*);
  StorageImpl* storage;

  static void end(Managed* managed) {
    const std::unique_ptr<Borrower> borrower(
        static_cast<Borrower*>(managed->manager_ctx));
    managed->manager_ctx = borrower->context;
    take_back(borrower->storage);
    lent_capsules.fetch_sub(1, std::memory_order_relaxed);
    borrower->deleter(managed);
  }
};

template <typename Managed>
void note_borrower(void* pointer, StorageImpl* storage) {
  auto* managed = static_cast<Managed*>(pointer);
  if (managed->deleter == nullptr) return;
  lend(storage, storage->resizable());
  lent_capsules.fetch_add(1, std::memory_order_relaxed);
  managed->manager_ctx =
      new Borrower<Managed>{managed->manager_ctx, managed->deleter, storage};
  managed->deleter = &Borrower<Managed>::end;
}

void note_capsule(PyObject* capsule, PyObject* arguments) {
  if (!PyCapsule_CheckExact(capsule)) return;
  StorageImpl* storage = storage_of_object(
      PyTuple_Check(arguments) && PyTuple_GET_SIZE(arguments) > 0
          ? PyTuple_GET_ITEM(arguments, 0)
          : arguments);
  if (storage == nullptr) return;
  constexpr const char* kPlain = "dltensor";
  constexpr const char* kVersioned = "dltensor_versioned";
  if (PyCapsule_IsValid(capsule, kPlain) != 0)
    note_borrower<DLManagedTensor>(PyCapsule_GetPointer(capsule, kPlain),
                                   storage);
  else if (PyCapsule_IsValid(capsule, kVersioned) != 0)
    note_borrower<DLManagedTensorVersioned>(
        PyCapsule_GetPointer(capsule, kVersioned), storage);
}

// ---- ways from Python

struct Way {
  const char* owner;  // in torch._C; null: torch._C itself
  const char* name;
  PyCFunction original = nullptr;
};
std::array ways{Way{"TensorBase", "numpy"}, Way{nullptr, "_to_dlpack"},
                Way{nullptr, "_to_dlpack_versioned"}};

template <std::size_t kWay, typename Call>
PyObject* note(PyObject* self, PyObject* arguments, const Call& call) {
  const StorageImpl* storage = storage_of_object(self);
  // NumPy's arrays have a tensor stay as large as it is.
  const bool was_seen = storage != nullptr && !storage->resizable();
  PyObject* result = call(ways[kWay].original);
  if (result == nullptr) return nullptr;
  if constexpr (kWay == 0)
    note_array(result, was_seen ? storage : nullptr);
  else
    note_capsule(result, arguments);
  return result;
}
template <std::size_t kWay>
PyObject* take(PyObject* self, PyObject* arguments) {
  return note<kWay>(self, arguments, [&](PyCFunction original) {
    return original(self, arguments);
  });
}
template <std::size_t kWay>
PyObject* take_named(PyObject* self, PyObject* arguments, PyObject* names) {
  return note<kWay>(self, arguments, [&](PyCFunction original) {
    return function_cast<PyCFunctionWithKeywords>(original)(self, arguments,
                                                            names);
  });
}

template <std::size_t kWay>
void watch_way(PyObject* module) {
  Way& way = ways[kWay];
  PyObject* owner = PyModule_GetDict(module);
  if (way.owner != nullptr) {
    owner = PyDict_GetItemString(owner, way.owner);
    if (owner == nullptr || !PyType_Check(owner)) return;
    owner = reinterpret_cast<PyTypeObject*>(owner)->tp_dict;
  }
  PyMethodDef* definition =
      definition_of(PyDict_GetItemString(owner, way.name));
  if (definition == nullptr || (definition->ml_flags & METH_FASTCALL) != 0)
    return;
  way.original = definition->ml_meth;
  const bool has_names = (definition->ml_flags & METH_KEYWORDS) != 0;
  replace_method(
      *definition,
      has_names ? function_cast<PyCFunction>(&take_named<kWay>) : &take<kWay>);
}

/// Makes a tensor of `buffer` as a program does, and notes the deleter's type
/// if it is found to keep the object as owner_of() expects.
void learn_deleter(std::size_t i, PyObject* tensor, PyObject* buffer) {
  if (StorageImpl* storage = storage_of_object(tensor)) {
    const c10::DataPtr& data = storage->_mutable_data_ptr_no_checks();
    if (data.get_deleter() == function_deleter) {
      const auto& deleter =
          static_cast<FunctionContext*>(data.get_context())->deleter_;
      types_of_deleters[i] = &deleter.target_type();
      if (owner_of(deleter) != buffer) types_of_deleters[i] = nullptr;
    }
  }
  Py_XDECREF(tensor);
  PyErr_Clear();  // there may be no NumPy
}

void learn_slices(PyObject* torch) {
  PyObject* whole = PyObject_CallMethod(torch, "UntypedStorage", "i", 2);
  PyObject* slice =
      whole == nullptr ? nullptr : PySequence_GetSlice(whole, 0, 1);
  PyErr_Clear();
  if (slice != nullptr && THPStorage_Check(slice)) {
    const c10::DataPtr& data = THPStorage_Unpack(slice)
                                   .unsafeGetStorageImpl()
                                   ->_mutable_data_ptr_no_checks();
    if (data.get_context() == THPStorage_Unpack(whole).unsafeGetStorageImpl())
      slice_deleter = data.get_deleter();
  }
  Py_XDECREF(slice);
  Py_XDECREF(whole);
}

void learn_arrays(PyObject* torch) {
  PyObject* tensor = PyObject_CallMethod(torch, "ones", "i", 2);
  PyObject* whole =
      tensor == nullptr ? nullptr : PyObject_CallMethod(tensor, "numpy", "");
  PyObject* view =
      whole == nullptr ? nullptr : PySequence_GetSlice(whole, 0, 1);
  PyErr_Clear();
  if (view != nullptr &&
      std::strcmp(Py_TYPE(view)->tp_name, "numpy.ndarray") == 0) {
    const auto* array = reinterpret_cast<const Array*>(view);
    if (array->base == whole && array->rank == 1 && array->shape[0] == 1 &&
        storage_of_object(reinterpret_cast<const Array*>(whole)->base) ==
            storage_of_object(tensor) &&
        (array->flags & Array::kIsWriteable) != 0)
      array_type = Py_TYPE(view);
    learn_deleter(0, PyObject_CallMethod(torch, "from_numpy", "O", view), view);
  }
  Py_XDECREF(view);
  Py_XDECREF(whole);
  Py_XDECREF(tensor);
}

}  // namespace

bool is_shared_at_closer_look(StorageImpl& storage) {
  const c10::DataPtr& data = storage._mutable_data_ptr_no_checks();
  const c10::DeleterFnPtr deleter = data.get_deleter();
  const bool is_block = Slabs::is_slot(data) || deleter == cpu_deleter;
  const bool may_be_lent =
      is_block || lent_arrays.load(std::memory_order_relaxed) != 0;
  if (may_be_lent && is_lent(storage, is_block && !storage.resizable()))
    return true;
  if (is_block || !data.device().is_cpu()) return false;
  if (deleter == &c10::detail::deleteNothing) return true;
  if (deleter == slice_deleter)
    return is_shared_at_closer_look(
        *static_cast<StorageImpl*>(data.get_context()));
  if (deleter == function_deleter)
    return others_have(
        owner_of(static_cast<FunctionContext*>(data.get_context())->deleter_));
  const auto* mapped = at::MapAllocator::fromDataPtr(data);
  // Only PyTorch maps, in this process, the memory that it shares with others.
  return mapped != nullptr &&
         (mapped->flags() & at::ALLOCATOR_MAPPED_SHARED) != 0 &&
         (mapped->flags() & at::ALLOCATOR_MAPPED_SHAREDMEM) == 0;
}

void watch_sharing() {
  if (function_deleter != nullptr)
    return;  // the module is set up a second time
  cpu_deleter = c10::GetAllocator(c10::kCPU)->raw_deleter();
  function_deleter = FunctionContext::makeDataPtr(
                         nullptr, [](void*) {}, c10::kCPU)
                         .get_deleter();
  PyObject* torch = PyImport_ImportModule("torch");
  PyObject* module = PyImport_ImportModule("torch._C");
  if (torch == nullptr || module == nullptr) throw python_error();
  learn_slices(torch);
  learn_arrays(torch);
  PyObject* bytes = PyByteArray_FromStringAndSize("x", 1);
  PyObject* arguments = Py_BuildValue("(O)", bytes);
  PyObject* names =
      Py_BuildValue("{s:N}", "dtype", PyObject_GetAttrString(torch, "uint8"));
  PyObject* frombuffer = PyObject_GetAttrString(torch, "frombuffer");
  learn_deleter(1, PyObject_Call(frombuffer, arguments, names), bytes);
  for (PyObject* object : {bytes, arguments, names, frombuffer})
    Py_XDECREF(object);
  watch_way<0>(module);
  watch_way<1>(module);
  watch_way<2>(module);
  Py_DECREF(module);
  Py_DECREF(torch);
}

}  // namespace gpuos::bridge
