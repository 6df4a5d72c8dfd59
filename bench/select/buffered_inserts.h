// How many values enter the buffer of a buffered selection, and how often it is merged: what Hanak 2023, 4.1.6 expects,
// and a host's model that counts.
#pragma once

#include <cstdint>

namespace kith::bench {

// The k smallest of a row and a buffer before them. A row comes in chunks; a value that is below the k-th smallest of
// what has been merged goes to the buffer, and a full buffer is merged.
struct BufferedSelection {
    std::int64_t k = 0, buffer = 0, chunk = 0;
};

// "bits" for k, as src/gpu/select/bits/bits.cu has it.
BufferedSelection bits_selection(std::int64_t k);

struct BufferedCounts {
    double added = 0, merges = 0;
};

// Upper bounds of what is expected of n values in random order (Hanak 2023, eq. 4.2 and 4.3, where the buffer is of k):
// a value that is added is among the k + buffer smallest so far.
BufferedCounts expected_of(const BufferedSelection& s, std::int64_t n);

// Means of some rows of uniform values.
BufferedCounts simulated(const BufferedSelection& s, std::int64_t n);

}  // namespace kith::bench
