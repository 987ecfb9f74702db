#pragma once

#include <Python.h>

#include "dlpack.h"

namespace gpuos::python {

/// What the C functions of an object's type say of its memory, by DLPack's
/// exchange API; not valid if there are none, if they fail, or for a tensor
/// that needs a gradient, which they would hand out without a word.
///
/// Lifetime: the description is valid as long as this and the object are; the
/// memory as long as the object is.
/// Threads: the GIL is held when it is made and destroyed.
class Exchanged {
 public:
  /// Only for what `is_written` is it known whether it is read-only.
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
  bool read(const dlpack::ExchangeApi& api, PyObject* object, bool is_written);

  dlpack::Tensor tensor_;
  dlpack::ManagedVersioned* managed_ = nullptr;  // owned
  bool is_valid_ = false;
};

}  // namespace gpuos::python
