#pragma once

#include "session/items.h"

namespace gpuos::session {

/// Returns a type as the device's compiler may take it. Member functions of the
/// host alone are only declared there, so only their use is an error.
Item type_for_device(const Item& item);

/// Returns a type as the host's compiler may take it. Member functions of the
/// device alone are only declared there.
Item type_for_host(const Item& item);

}  // namespace gpuos::session
