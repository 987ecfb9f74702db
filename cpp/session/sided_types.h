#pragma once

#include "session/items.h"

namespace gpuos::session {

/// A type as the device's compiler may take it: member functions of the host
/// alone are only declared there, so that nothing but their use is an error.
Item type_for_device(const Item& item);

/// The same the other way round.
Item type_for_host(const Item& item);

}  // namespace gpuos::session
