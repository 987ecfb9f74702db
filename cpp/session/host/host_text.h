#pragma once

#include <string>

#include "session/cells/items.h"

namespace gpuos::session {

/// Returns host code with its launches as calls of stubs. "k<<<g, b>>>(x)"
/// becomes "(gpuos_host::configure(g, b), k(x))".
/// Throws: CompileError at the place in `cell`.
std::string with_launches(const Item& item, const std::string& cell);

/// Returns a host function with the kernel's name that launches it.
Item kernel_stub(const Item& kernel);

/// Returns the declaration of "void name() { k<<<1, 1>>>(); }" for host code.
Item launches_stub(const Item& function);

/// Blanks out words that keep a function to its own object. Takes an item in
/// extern "C" to C++.
void make_external(Item& item);

/// Takes an item out of extern "C".
void drop_linkage(Item& item);

/// Removes the default arguments of a definition that follows its declaration.
void strip_defaults(Item& item);

/// Makes the instances of a variable template one for all cells. Each object
/// finds the instances of the first object, and sees that they have been made.
void share_instances(Item& variable_template);

/// Returns a type as the device's compiler may take it. Member functions of the
/// host alone are only declared there, so only their use is an error.
Item type_for_device(const Item& item);

/// Returns a type as the host's compiler may take it. Member functions of the
/// device alone are only declared there.
Item type_for_host(const Item& item);

}  // namespace gpuos::session
