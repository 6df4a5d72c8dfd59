// Decodes LZF, the fast compression of h5py and others (Lehmann, liblzf).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kith::io {

// The number of bytes that a stream decodes to; -1 if it is broken: truncated, or with a reference
// before its start.
std::int64_t lzf_decoded_size(std::span<const std::uint8_t> stream);

// Decodes a stream to `out`, which has room for lzf_decoded_size() bytes.
void lzf_decode(std::span<const std::uint8_t> stream, std::uint8_t* out);

}  // namespace kith::io
