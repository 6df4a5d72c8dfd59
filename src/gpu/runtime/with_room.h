// Work that is left out if memory is short.
#pragma once

#include "kith/error.h"

namespace kith::gpu {

// Runs `work`, which allocates. False if there was no memory for it; other errors pass through.
template <class Work>
bool with_room(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
        return false;
    }
    return true;
}

}  // namespace kith::gpu
