#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "device/operator.h"

namespace gpuos::host {

/// A loaded operator. Its code stays while `library` is held.
struct HostModule {
  std::shared_ptr<void> library;
  OpFn entry = nullptr;
};

/// A compiled library whose initialisers its loader calls, not the system's.
struct HostImage {
  std::string bytes;
  // The list of functions that construct static objects. It is an address
  // inside the loaded library.
  std::size_t initialisers = 0;
  std::size_t initialiser_count = 0;
};

/// Takes the compiler's output if it is a whole library.
/// Throws: CompileError, naming `entry`.
HostImage make_host_image(std::string bytes, const std::string& entry);

/// Says whether other libraries can find the names of a library.
enum class Names : std::uint8_t { Own, Shared };

/// Opens a private copy of a library. None of its code has run. `Shared`:
/// libraries that are opened later find its names.
/// Throws: CompileError, Error.
void* open_host_image(const HostImage& image, const std::string& name,
                      Names names);
/// Calls its initialisers. Throws: their exceptions; Error.
void initialise_host_image(void* library, const HostImage& image);

/// Opens a private copy of a library with fresh static data.
/// Throws: CompileError, also for an exception of a static constructor; Error.
HostModule load_host_image(const HostImage& image, const std::string& entry);

}  // namespace gpuos::host
