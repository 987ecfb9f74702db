#pragma once

#include <cstddef>
#include <new>
#include <string>
#include <utility>

#include "base/concat.h"

namespace gpuos {

/// A std::bad_alloc that says how much was asked for.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::size_t bytes)
      : NoMemory(
            concat("expected ", bytes, " bytes of free memory, got fewer")) {}
  explicit NoMemory(std::string text) : text_(std::move(text)) {}

  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

}  // namespace gpuos
