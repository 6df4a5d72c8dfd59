// Decodes LZF. A stream is a sequence of runs, each preceded by a control byte. A control byte c
// below 32 precedes c + 1 literal bytes. Otherwise the run is a copy. Its length is the upper three
// bits of c plus 2; if they are 7, the next byte is added. Its distance is the lower five bits of c
// and the next byte, plus 1. A copy may overlap its own output.
#include "io/zip/lzf.h"

#include <algorithm>

namespace kith::io {
namespace {

constexpr unsigned first_copy = 32, long_copy = 7;

// Calls `literal(bytes, count)` or `copy(distance, count)` for each run, until one returns false.
// Returns whether the stream is whole and none did.
template <class Literal, class Copy>
bool each_run(std::span<const std::uint8_t> stream, const Literal& literal, const Copy& copy) {
    for (std::size_t at = 0; at < stream.size();) {
        const unsigned control = stream[at++];
        if (control < first_copy) {
            const std::size_t count = control + 1;
            if (count > stream.size() - at || !literal(stream.data() + at, count)) return false;
            at += count;
            continue;
        }
        std::size_t count = control >> 5;
        const std::size_t more = count == long_copy ? 2 : 1;
        if (more > stream.size() - at) return false;
        if (more == 2) count += stream[at++];
        if (!copy(((control & 31U) << 8 | stream[at++]) + 1, count + 2)) return false;
    }
    return true;
}

}  // namespace

std::int64_t lzf_decoded_size(std::span<const std::uint8_t> stream) {
    std::size_t size = 0;
    const auto grow = [&](std::size_t count) {
        size += count;
        return true;
    };
    const bool whole = each_run(
        stream, [&](const std::uint8_t*, std::size_t count) { return grow(count); },
        [&](std::size_t distance, std::size_t count) { return distance <= size && grow(count); });
    return whole ? static_cast<std::int64_t>(size) : -1;
}

void lzf_decode(std::span<const std::uint8_t> stream, std::uint8_t* out) {
    each_run(
        stream,
        [&](const std::uint8_t* bytes, std::size_t count) {
            out = std::copy_n(bytes, count, out);
            return true;
        },
        [&](std::size_t distance, std::size_t count) {
            for (; count > 0; --count, ++out) *out = *(out - distance);
            return true;
        });
}

}  // namespace kith::io
