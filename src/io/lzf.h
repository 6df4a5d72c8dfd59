// Decoding LZF, the fast compression of h5py and others (Lehmann, liblzf).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kith::io {

// The bytes to which a stream decodes, -1 where it is broken: it ends in the middle, or refers to
// what is before its start.
std::int64_t lzf_decoded_size(std::span<const std::uint8_t> stream);

// Decodes a stream of that size to `out`, which has room for it.
void lzf_decode(std::span<const std::uint8_t> stream, std::uint8_t* out);

}  // namespace kith::io
