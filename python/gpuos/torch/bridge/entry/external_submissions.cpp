#include "entry/setup.h"

#include <Python.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <vector>

#include "flush/pending.h"
#include "memory/sites.h"
#include "planning/operands.h"
#include "pytorch/hooks.h"
#include "pytorch/keys.h"
#include "pytorch/python.h"

namespace gpuos::bridge {
namespace {

// PyTorch's stream is none of the runtime's, so its end is awaited.
void wait_for_stream(const Tensor& tensor) {
  const Site& site = current_site(tensor.device());
  if (!site.is_cpu())
    c10::impl::VirtualGuardImpl(site.stream.device_type())
        .synchronizeStream(site.stream);
}

/// Returns THPVariable_Check(), without the way through Python.
bool is_tensor(PyObject* object) {
  return PyObject_TypeCheck(object,
                            reinterpret_cast<PyTypeObject*>(THPVariableClass));
}

thread_local std::vector<Tensor> tensors_of_submission;

void order_behind(const Tensor& tensor, const Runtime* runtime) {
  if (!tensor.device().is_cpu() && !tensor.device().is_cuda()) return;
  const bool is_ours = is_runtime_of_site(runtime);
  const bool was_marked = is_marked(tensor);
  // Our runtimes order their own submissions. Their marks carry no other
  // information.
  if (pending.size() != 0 || (was_marked && !is_ours))
    pending.flush("submission to a runtime");
  if (is_ours || was_marked) wait_for_stream(tensor);
  if (!is_ours) return;
  if (has_memory(tensor)) unwatch(storage_of(tensor));  // for its address
  tensors_of_submission.push_back(tensor);
}

bool before(void* array, const Runtime* runtime) noexcept {
  auto* object = static_cast<PyObject*>(array);
  if (!is_tensor(object)) return true;
  try {
    order_behind(THPVariable_Unpack(object), runtime);
    return true;
  } catch (...) {
    raise_caught();
    return false;
  }
}

void after(const Runtime* runtime) noexcept {
  if (!is_runtime_of_site(runtime)) return;
  // Marks them for accesses that bypass a scheduler's operators.
  for (const Tensor& tensor : tensors_of_submission) {
    mark(tensor.unsafeGetTensorImpl());
    if (has_memory(tensor)) watch(storage_of(tensor));
  }
  tensors_of_submission.clear();
  pending.note_external();
}

constexpr ArrayWatch kWatch{.before = before, .after = after};

}  // namespace

const ArrayWatch& array_watch() { return kWatch; }

}  // namespace gpuos::bridge
