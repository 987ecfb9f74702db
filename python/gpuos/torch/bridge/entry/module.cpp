// The Python module of the bridge.
#include <Python.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/object_ptr.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "entry/override_calls.h"
#include "entry/requests_api.h"
#include "entry/setup.h"
#include "flush/backoff.h"
#include "flush/costs.h"
#include "flush/options.h"
#include "flush/pass_through.h"
#include "flush/pending.h"
#include "flush/timer.h"
#include "memory/blocks.h"
#include "memory/outputs.h"
#include "memory/sharing.h"
#include "memory/slabs.h"
#include "planning/elementwise.h"
#include "pytorch/keys.h"
#include "pytorch/private_parts.h"

namespace gpuos::bridge {

constinit thread_local int scheduler_depth = 0;
std::atomic<int> scheduler_threads{0};
ThreadState usual_state;
ThreadState inferring_state;
constinit thread_local Options options;

namespace {

/// Slabs of each stream that stay for the next scheduler.
constexpr std::size_t kKeptBytes = std::size_t{32} << 20;

/// The GIL, wherever a thread comes from.
struct WithGil {
  PyGILState_STATE state = PyGILState_Ensure();
  ~WithGil() { PyGILState_Release(state); }
};

/// Without it while something may wait for a thread that needs it.
struct WithoutGil {
  PyThreadState* state = PyEval_SaveThread();
  ~WithoutGil() { PyEval_RestoreThread(state); }
};

/// A function of Python without arguments that calls `kDo`.
template <auto kDo>
PyObject* plain(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  kDo();
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}
/// A function of Python that calls `kDo` with its argument, a number.
template <auto kDo>
PyObject* of_number(PyObject*, PyObject* object) {
  HANDLE_TH_ERRORS
  const double value = PyFloat_AsDouble(object);
  if (value == -1.0 && PyErr_Occurred() != nullptr) return nullptr;
  kDo(value);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* make_runtime = nullptr;  // device type, index -> capsule
PyObject* find_stream = nullptr;   // stream id, device type, index -> handle

std::shared_ptr<Runner> make_runner(c10::Device device) {
  const WithGil gil;
  PyObject* capsule = PyObject_CallFunction(
      make_runtime, "si", c10::DeviceTypeName(device.type(), true).c_str(),
      device.has_index() ? device.index() : 0);
  if (capsule == nullptr) throw python_error();
  std::shared_ptr<void> owner(capsule, [capsule](void*) {
    const WithGil gil_to_drop;
    Py_DECREF(capsule);
  });
  void* runtime = PyCapsule_GetPointer(capsule, kRuntimeCapsule);
  if (runtime == nullptr) throw python_error();
  return std::make_shared<Runner>(std::move(owner),
                                  *static_cast<Runtime*>(runtime));
}

void* find_handle(c10::Stream stream) {
  const WithGil gil;
  PyObject* result = PyObject_CallFunction(
      find_stream, "Lii", static_cast<long long>(stream.id()),
      static_cast<int>(stream.device_type()),
      static_cast<int>(stream.device_index()));
  if (result == nullptr) throw python_error();
  void* handle = PyLong_AsVoidPtr(result);
  Py_DECREF(result);
  return handle;
}

std::vector<std::string> strings_of(PyObject* list) {
  std::vector<std::string> strings;
  PyObject* items = PySequence_Fast(list, "expected a sequence of names");
  if (items == nullptr) throw python_error();
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items); ++i)
    strings.emplace_back(PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items, i)));
  Py_DECREF(items);
  return strings;
}

// setup(composite, other_composite, views, explicit_composite,
// make_runtime, find_stream, retire, join) -> a capsule that watches arrays
PyObject* setup(PyObject*, PyObject* arguments) {
  HANDLE_TH_ERRORS
  PyObject* composite = nullptr;
  PyObject* other_composite = nullptr;
  PyObject* views = nullptr;
  PyObject* explicit_composite = nullptr;
  PyObject* retire = nullptr;
  PyObject* join = nullptr;
  if (PyArg_ParseTuple(arguments, "OOOOOOOO", &composite, &other_composite,
                       &views, &explicit_composite, &make_runtime, &find_stream,
                       &retire, &join) == 0)
    return nullptr;
  retire_front_with(retire);
  join_with(join);
  Py_INCREF(make_runtime);
  Py_INCREF(find_stream);
  guard_storage_setters();
  watch_sharing();
  set_up_sites(&make_runner, &find_handle);
  register_operators({strings_of(composite), strings_of(other_composite),
                      strings_of(views), strings_of(explicit_composite)});
  const c10::impl::IncludeDispatchKeyGuard guard(kModeKey);
  const auto& state = c10::impl::raw_local_dispatch_key_set;
  usual_state = {state.included_, state.excluded_};
  const c10::InferenceMode inferring;
  inferring_state = {state.included_, state.excluded_};
  return PyCapsule_New(const_cast<ArrayWatch*>(&array_watch()), kWatchCapsule,
                       nullptr);
  END_HANDLE_TH_ERRORS
}

// use_device(device type, index): has its runtime made.
PyObject* use_device(PyObject*, PyObject* arguments) {
  HANDLE_TH_ERRORS
  const char* type = nullptr;
  int index = 0;
  if (PyArg_ParseTuple(arguments, "si", &type, &index) == 0) return nullptr;
  c10::Device device(type);
  if (!device.is_cpu()) device.set_index(static_cast<c10::DeviceIndex>(index));
  current_site(device);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// install_overrides(torch.nn.Parameter), remove_overrides(): with the memory
PyObject* install(PyObject*, PyObject* parameter) {
  HANDLE_TH_ERRORS
  install_overrides(parameter);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}
void remove() {
  remove_overrides();
  trim_slabs(0);
  free_blocks();
}

void set_capacity(double requests) {
  capacity_outside.store(static_cast<std::size_t>(requests));
}

// Sets how long the overrides stay when no scheduler is in use.
void set_patience(double seconds) {
  retire_after(
      std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)));
}

// `count` schedulers were entered before the bridge was there.
void await(double count) { await_schedulers(static_cast<int>(count)); }

void start(double seconds) {
  const WithoutGil without;
  start_timer(
      std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6)));
}
void stop() {
  const WithoutGil without;
  stop_timer();
  pending.stop_starter();
}

/// The state that leave() restores, for each scheduler of this thread.
struct Entered {
  Options outside;
  bool is_fixed = false;
};

/// The states of a thread, which may end inside of some schedulers.
struct AllEntered : std::vector<Entered> {
  ~AllEntered() {
    if (!empty()) --scheduler_threads;
  }
};
thread_local AllEntered entered;

/// `is_fixed`: whether only the operators decide what is deferred.
void go_in(const Options& inside, bool is_fixed) {
  entered.push_back({options, is_fixed});
  options = inside;
  if (scheduler_depth++ == 0) {
    ++scheduler_threads;
    if (begin_watching())
      c10::impl::tls_set_dispatch_key_included(kModeKey, true);
  }
  if (is_fixed) begin_fixed();
}
/// False: a fork has left it.
bool go_out() {
  if (entered.empty()) return false;
  const Entered left = entered.back();
  entered.pop_back();
  options = left.outside;
  if (left.is_fixed) end_fixed();
  if (--scheduler_depth == 0) {
    --scheduler_threads;
    note_use();
    c10::impl::tls_set_dispatch_key_included(kModeKey, false);
  }
  return true;
}

// enter(capacity, size_threshold, is_fixed, list, block): and appends the block
// to the list, both or none.
PyObject* enter(PyObject*, PyObject* arguments) {
  HANDLE_TH_ERRORS
  Py_ssize_t most = 0;
  long long threshold = 0;
  int is_fixed = 0;
  PyObject* list = nullptr;
  PyObject* block = nullptr;
  if (PyArg_ParseTuple(arguments, "nLpO!O", &most, &threshold, &is_fixed,
                       &PyList_Type, &list, &block) == 0 ||
      PyList_Append(list, block) != 0)
    return nullptr;
  go_in({static_cast<std::size_t>(most), threshold}, is_fixed != 0);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}
// leave(list): flushes, if it was the outermost, and returns the last of the
// list, which is not in it any more.
PyObject* leave(PyObject*, PyObject* list) {
  HANDLE_TH_ERRORS
  const Py_ssize_t last = PyList_Size(list) - 1;
  if (last < 0) return nullptr;
  THPObjectPtr block(Py_NewRef(PyList_GET_ITEM(list, last)));
  if (PyList_SetSlice(list, last, last + 1, nullptr) != 0) return nullptr;
  if (go_out() && scheduler_depth == 0) {
    pending.flush("end of a scheduler");
    pending.forget_values(false);
    trim_slabs(kKeptBytes);
  }
  return block.release();
  END_HANDLE_TH_ERRORS
}
// within(function, *arguments): calls it inside of a scheduler with the options
// that the thread has, and flushes nothing.
PyObject* within(PyObject*, PyObject* arguments) {
  HANDLE_TH_ERRORS
  THPObjectPtr others(PyTuple_GetSlice(arguments, 1, PyTuple_Size(arguments)));
  if (!others) return nullptr;
  go_in(options, false);
  PyObject* result =
      PyObject_CallObject(PyTuple_GET_ITEM(arguments, 0), others);
  go_out();
  return result;
  END_HANDLE_TH_ERRORS
}
// weigh_costs(whether operations are left to PyTorch because of their cost)
PyObject* weigh(PyObject*, PyObject* weighs) {
  weigh_costs(PyObject_IsTrue(weighs) == 1);
  Py_RETURN_NONE;
}
// imitate_gpu(whether values of CPU tensors are known as those of a GPU's are)
PyObject* imitate(PyObject*, PyObject* imitates) {
  pending.imitate_gpu(PyObject_IsTrue(imitates) == 1);
  Py_RETURN_NONE;
}
// without(function, arguments, names): flushes, and PyTorch does everything in
// this thread until the function returns.
PyObject* without(PyObject*, PyObject* call) {
  HANDLE_TH_ERRORS
  PyObject* function = nullptr;
  PyObject* arguments = nullptr;
  PyObject* names = nullptr;
  if (PyArg_ParseTuple(call, "OO!O!", &function, &PyTuple_Type, &arguments,
                       &PyDict_Type, &names) == 0)
    return nullptr;
  if (!pending.is_empty()) pending.flush("a function that PyTorch runs");
  pending.forget_values(false);
  const bool was_on = c10::impl::tls_is_dispatch_key_included(kModeKey);
  c10::impl::tls_set_dispatch_key_included(kModeKey, false);
  PyObject* result = PyObject_Call(function, arguments, names);
  if (was_on) c10::impl::tls_set_dispatch_key_included(kModeKey, true);
  return result;
  END_HANDLE_TH_ERRORS
}
void flush_for(const Cause& cause) {
  if (!pending.is_empty()) pending.flush(cause);
  give_back_what_was_put_aside();
}
void flush() {
  flush_for("flush");
  pending.forget_values(false);
}
// flush_before_read(tensor) flushes if a pending request may write its memory.
// flush_before_use(tensor) flushes also if one may read it.
template <bool kWrites>
PyObject* flush_before(PyObject*, PyObject* object) {
  HANDLE_TH_ERRORS
  if (kWrites && THPVariable_Check(object))
    pending.note_exposed(THPVariable_Unpack(object));
  if (!pending.is_empty() && pending.may_wait() && THPVariable_Check(object)) {
    const Tensor& tensor = THPVariable_Unpack(object);
    if (!is_marked(tensor) && is_apart(tensor, kWrites)) {
      pending.start_if_large();
      Py_RETURN_NONE;
    }
  }
  flush_for("access to memory");
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}
void synchronize() { pending.synchronize(); }
PyObject* pending_count(PyObject*, PyObject*) {
  return PyLong_FromSize_t(pending.size());
}

// capture(begins): the memory of a graph is its own, and one thread makes it.
PyObject* capture(PyObject*, PyObject* begins) {
  const bool captures = PyObject_IsTrue(begins) == 1;
  use_slabs(!captures);
  pending.use_starter(!captures);
  Py_RETURN_NONE;
}
// leave_slab(untyped storage)
PyObject* leave_slab_of(PyObject*, PyObject* storage) {
  HANDLE_TH_ERRORS
  if (!pending.is_empty()) pending.flush("shared memory");
  leave_slab(THPStorage_Unpack(storage).unsafeGetStorageImpl());
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// shut_down(): the next request starts again.
void shut_down() {
  const WithoutGil others_run;
  pending.shut_down();
}

void after_fork() {
  forget_timer();
  pending.forget_parent();
  for (Slabs* slabs : all_slabs()) slabs->unlock();
  forget_sites();
  if (scheduler_depth > 0)
    c10::impl::tls_set_dispatch_key_included(kModeKey, false);
  scheduler_depth = 0;
  scheduler_threads = 0;
  await_schedulers(0);
  for (; !entered.empty(); entered.pop_back())
    if (entered.back().is_fixed) end_fixed();
  options = {};
}

/// Returns a dict, or null with a Python error.
PyObject* dict_of(const Counts& counts) {
  THPObjectPtr made(PyDict_New());
  if (!made) return nullptr;
  for (const auto& [name, count] : counts.all()) {
    THPObjectPtr number(PyLong_FromUnsignedLongLong(count));
    if (!number || PyDict_SetItemString(made, name.c_str(), number.get()) != 0)
      return nullptr;
  }
  return made.release();
}

PyObject* stats(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  const RequestStats requests = pending.stats();
  const Counters counters = pending.counters();
  const auto number = [](std::uint64_t value) {
    return static_cast<unsigned long long>(value);
  };
  return Py_BuildValue(
      "{s:K,s:K,s:K,s:K,s:L,s:K,s:K,s:K,s:K,s:K,s:K,s:N,s:N}", "intercepted",
      number(counters.intercepted), "fallbacks", number(counters.fallbacks),
      "left", number(counters.left), "known_reads",
      number(counters.known_reads), "saved_ns",
      static_cast<long long>(counters.saved), "flushes",
      number(counters.flushes), "tasks", number(requests.tasks), "programs",
      number(requests.programs), "unwritten", number(requests.unwritten),
      "compiling", number(requests.compiling), "pending",
      number(pending.size()), "causes", dict_of(flush_causes), "run_by_pytorch",
      dict_of(run_by_pytorch));
  END_HANDLE_TH_ERRORS
}

PyMethodDef methods_of_module[] = {
    {"setup", &setup, METH_VARARGS, nullptr},
    {"check_private_parts", &plain<check_private_parts>, METH_NOARGS, nullptr},
    {"use_device", &use_device, METH_VARARGS, nullptr},
    {"install_front", &install, METH_O, nullptr},
    {"remove_front", &plain<remove>, METH_NOARGS, nullptr},
    {"retire_after", &of_number<set_patience>, METH_O, nullptr},
    {"await_schedulers", &of_number<await>, METH_O, nullptr},
    {"set_capacity", &of_number<set_capacity>, METH_O, nullptr},
    {"start_timer", &of_number<start>, METH_O, nullptr},
    {"pause_timer", &plain<pause_timer>, METH_NOARGS, nullptr},
    {"stop_timer", &plain<stop>, METH_NOARGS, nullptr},
    {"enter", &enter, METH_VARARGS, nullptr},
    {"leave", &leave, METH_O, nullptr},
    {"within", &within, METH_VARARGS, nullptr},
    {"weigh_costs", &weigh, METH_O, nullptr},
    {"imitate_gpu", &imitate, METH_O, nullptr},
    {"watch_anew", &plain<watch_anew>, METH_NOARGS, nullptr},
    {"without", &without, METH_VARARGS, nullptr},
    {"flush", &plain<flush>, METH_NOARGS, nullptr},
    {"flush_before_read", &flush_before<false>, METH_O, nullptr},
    {"flush_before_use", &flush_before<true>, METH_O, nullptr},
    {"synchronize", &plain<synchronize>, METH_NOARGS, nullptr},
    {"pending", &pending_count, METH_NOARGS, nullptr},
    {"capture", &capture, METH_O, nullptr},
    {"leave_slab", &leave_slab_of, METH_O, nullptr},
    {"after_fork", &plain<after_fork>, METH_NOARGS, nullptr},
    {"shut_down", &plain<shut_down>, METH_NOARGS, nullptr},
    {"stats", &stats, METH_NOARGS, nullptr},
    GPUOS_REQUEST_FUNCTIONS(GPUOS_REQUEST_FUNCTION),
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "_bridge",
                          "The interception of PyTorch's operators.",
                          -1,
                          methods_of_module,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace gpuos::bridge

// The name is Python's. NOLINTNEXTLINE(readability-identifier-naming)
PyMODINIT_FUNC PyInit__bridge() {
  PyObject* module = PyModule_Create(&gpuos::bridge::definition);
  if (module != nullptr &&
      PyModule_AddStringConstant(module, "name", GPUOS_BRIDGE_NAME) != 0)
    Py_CLEAR(module);
  return module;
}
