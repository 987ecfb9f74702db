#include "flush/objects.h"

#include <torch/csrc/utils/pythoncapi_compat.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "pytorch/memory.h"

namespace gpuos::bridge {
namespace {

using Objects = HeldObjects::Objects;

constexpr std::size_t kAhead = 3;  // requests

std::mutex mutex;
std::vector<Objects> aside;          // under mutex
std::atomic<bool> has_aside{false};  // changed under mutex

void give_back_all(std::vector<Objects>& objects) noexcept {
  for (std::size_t i = 0; i < objects.size(); ++i) {
    // They were touched long ago.
    for (PyObject* later : objects[std::min(i + kAhead, objects.size() - 1)])
      prefetch_to_write(later);
    for (PyObject* object : objects[i]) Py_DECREF(object);
  }
  objects.clear();
}

/// Python's main thread gives them back between two instructions.
void put_aside(std::vector<Objects>& objects) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex);
    is_first = aside.empty();
    aside.insert(aside.end(), objects.begin(), objects.end());
    has_aside.store(true, std::memory_order_relaxed);
  }
  objects.clear();
  if (is_first)
    Py_AddPendingCall(
        [](void*) {
          give_back_what_was_put_aside();
          return 0;
        },
        nullptr);
}

}  // namespace

bool has_gil() noexcept {
  // PyGILState_Check() says yes to everybody once there are subinterpreters.
  PyThreadState* own = PyGILState_GetThisThreadState();
  return own != nullptr && own == PyThreadState_GetUnchecked();
}

void HeldObjects::give_back() noexcept {
  if (objects_.empty()) return;
  if (has_gil()) {
    give_back_what_was_put_aside();
    give_back_all(objects_);
    return;
  }
  try {
    put_aside(objects_);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch)
    // They stay where they are until the next time.
  }
}

void give_back_what_was_put_aside() noexcept {
  // This is only a hint: a thread that reads it too early is not the last to
  // look.
  if (!has_aside.load(std::memory_order_relaxed)) return;
  std::vector<Objects> objects;
  {
    const std::lock_guard lock(mutex);
    objects = std::exchange(aside, {});
    has_aside.store(false, std::memory_order_relaxed);
  }
  give_back_all(objects);
}

}  // namespace gpuos::bridge
