#pragma once

#include <Python.h>

#include <cstdint>

namespace gpuos::python {

// This lock replaces the GIL where Python has none. Every call from Python
// takes it (errors.h). It is released where the GIL would be: by WithoutGil, by
// functions of Python that may wait, and by WithoutLock.
//
// It is one of CPython's critical sections. A thread that waits in Python has
// therefore released it. No thread waits for it while it holds something that
// another thread needs. With a GIL the lock does not exist.

#if defined(Py_GIL_DISABLED)

/// Holds the lock for as long as it lives. A thread that already holds it
/// continues.
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

  /// Makes the lock before anything else. Throws nothing and returns false with
  /// an error set.
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

  // This Python object contains a lock and is never released.
  static inline PyObject* lock = nullptr;
  static inline constinit thread_local WithLock* innermost = nullptr;

  bool is_first_;
  WithLock* outer_ = nullptr;
  PyCriticalSection section_;
};

/// Releases the lock for as long as it lives, around Python code of others.
/// Such code may take long, and may wait in a loop for another thread.
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
