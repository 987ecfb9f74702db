#pragma once

#include <Python.h>

#include <cstdint>

namespace gpuos::python {

// What stands here for the GIL where Python has none: one lock of this module,
// which every call from Python takes (errors.h). It is let go where the GIL
// would be: by WithoutGil, by whatever in Python may wait, and by WithoutLock.
//
// It is one of CPython's critical sections, so that nobody waits for it with
// something that another thread needs: whoever waits in Python has let it go.
// With a GIL there is none of it.

#if defined(Py_GIL_DISABLED)

/// Holds the lock for as long as it lives; a thread that has it goes on.
class WithLock {
 public:
  WithLock() noexcept : is_first_(!is_held()) {
    if (!is_first_) return;
    outer_ = innermost;
    innermost = this;
    take();
  }
  ~WithLock() {
    if (!is_first_) return;
    PyCriticalSection_End(&section_);
    innermost = outer_;
  }
  WithLock(const WithLock&) = delete;
  WithLock& operator=(const WithLock&) = delete;

  /// Before anything else. Throws nothing; false with an error set.
  static bool make() noexcept {
    if (lock == nullptr)
      lock =
          PyObject_CallNoArgs(reinterpret_cast<PyObject*>(&PyBaseObject_Type));
    return lock != nullptr;
  }

 private:
  friend class WithoutLock;

  void take() noexcept { PyCriticalSection_Begin(&section_, lock); }

  // A critical section is active if it is the last that its thread began.
  static bool is_held() noexcept {
    return innermost != nullptr &&
           PyThreadState_GetUnchecked()->critical_section ==
               reinterpret_cast<std::uintptr_t>(&innermost->section_);
  }

  // An object of Python, which has a lock in it; never let go.
  static inline PyObject* lock = nullptr;
  static inline constinit thread_local WithLock* innermost = nullptr;

  bool is_first_;
  WithLock* outer_ = nullptr;
  PyCriticalSection section_;
};

/// Lets the lock go for as long as it lives: around Python code of others,
/// which may take long, and may look in a loop for what another thread does.
class WithoutLock {
 public:
  WithoutLock() noexcept
      : held_(WithLock::is_held() ? WithLock::innermost : nullptr) {
    if (held_ != nullptr) PyCriticalSection_End(&held_->section_);
  }
  ~WithoutLock() {
    if (held_ != nullptr) held_->take();
  }
  WithoutLock(const WithoutLock&) = delete;
  WithoutLock& operator=(const WithoutLock&) = delete;

 private:
  WithLock* held_;
};

#else

class WithLock {
 public:
  WithLock() noexcept {}  // NOLINT(modernize-use-equals-default): not unused
  static bool make() noexcept { return true; }
};

class WithoutLock {
 public:
  WithoutLock() noexcept {}  // NOLINT(modernize-use-equals-default): as above
};

#endif

}  // namespace gpuos::python
