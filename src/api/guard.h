// What every entry point of the library runs in: the floating-point state that distances are
// defined in, and memory that could not be had is a kith::Error.
#pragma once

#include <new>
#include <stdexcept>

#include "machine/float_state.h"

namespace kith::api {

// Throws Error{out_of_memory}, naming what is free.
[[noreturn]] void refuse_memory();

template <class F>
auto guarded(const F& call) {
    const machine::FloatState state;
    try {
        return machine::apart(call);
    } catch (const std::bad_alloc&) {
        refuse_memory();
    } catch (const std::length_error&) {  // a container of more than can be addressed
        refuse_memory();
    }
}

}  // namespace kith::api
