#pragma once

#include <string>

#include "session/items.h"

namespace gpuos::session {

/// Host code with its launches as calls of stubs: "k<<<g, b>>>(x)" becomes
/// "(gpuos_host::configure(g, b), k(x))".
/// Throws: CompileError at the place in `cell`.
std::string with_launches(const Item& item, const std::string& cell);

/// Returns a host function with the kernel's name that launches it.
Item kernel_stub(const Item& kernel);

/// Returns the declaration of "void name() { k<<<1, 1>>>(); }" for host code.
Item launches_stub(const Item& function);

/// Words that keep a function to its own object, blanked out; what stands in
/// another of the library's languages comes to stand in C++.
void make_external(Item& item);

/// Takes an item out of extern "C".
void drop_linkage(Item& item);

/// A definition behind its declaration says no default arguments.
void strip_defaults(Item& item);

/// A variable template whose instances are one for all cells: each object finds
/// those of the first, and sees that they have been made.
void share_instances(Item& variable_template);

}  // namespace gpuos::session
