// Wraps every entry point of the library: sets the floating-point state that distances are defined
// in, and turns allocation failures into kith::Error.
#pragma once

#include <new>
#include <stdexcept>

#include "machine/float_state.h"

namespace kith::api {

// Throws Error{out_of_memory}, naming the free memory.
[[noreturn]] void refuse_memory();

template <class F>
auto guarded(const F& call) {
    const machine::FloatState state;
    try {
        return machine::apart(call);
    } catch (const std::bad_alloc&) {
        refuse_memory();
    } catch (const std::length_error&) {  // a container larger than the address space
        refuse_memory();
    }
}

}  // namespace kith::api
