// Implements buffer.h.
#include "cpu/primitives/buffer.h"

#include "machine/large_memory.h"

namespace kith::cpu {

void* allocate_bytes(std::size_t bytes) {
    return machine::allocate_bytes(bytes);
}

void release_bytes(void* p) {
    machine::release_bytes(p);
}

}  // namespace kith::cpu
