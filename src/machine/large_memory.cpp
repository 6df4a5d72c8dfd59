// Large blocks of memory; see large_memory.h.
#include "machine/large_memory.h"

#include <cstdlib>
#include <string>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "kith/error.h"
#include "kith/memory.h"

namespace kith::machine {

void* allocate_bytes(std::size_t bytes) {
    constexpr std::size_t huge_page = std::size_t{2} << 20;
    const std::size_t alignment = bytes >= 2 * huge_page ? huge_page : 64;
    const std::size_t size = (bytes + alignment) / alignment * alignment;
    // The system would give it all the same, and end the process when it is used.
    constexpr std::size_t checked = std::size_t{64} << 20;
    if (size >= checked)
        require_memory(static_cast<std::int64_t>(size),
                       "the search's own copy of points or queries");
    void* p = size < bytes ? nullptr : std::aligned_alloc(alignment, size);
    if (!p)
        throw Error(ErrorCode::out_of_memory, "no memory for " + std::to_string(bytes) + " bytes");
#if defined(__linux__)
    if (alignment == huge_page) (void)madvise(p, size, MADV_HUGEPAGE);
#endif
    return p;
}

void release_bytes(void* p) noexcept {
    std::free(p);
}

}  // namespace kith::machine
