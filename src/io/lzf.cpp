// Decodes LZF. A stream is of runs, each behind a byte. Of a byte below 32, so many bytes and one
// follow as they are. Of any other, the upper three bits are a length less two, 7 meaning that the
// next byte adds to it; the lower five and the next byte say how far back, less one, the bytes are
// that are copied, which may run into those being made.
#include "io/lzf.h"

#include <algorithm>

namespace kith::io {
namespace {

constexpr unsigned first_copy = 32, long_copy = 7;

// Hands each run to `literal(bytes, count)` or `copy(distance, count)`, until one returns false.
// Whether the stream is whole and none did.
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
