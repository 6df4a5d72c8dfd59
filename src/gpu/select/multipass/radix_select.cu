// Radix select (Hanak 2023, 3.7.2 and 4.3): multi-pass selection whose buckets are digits of eight bits, the most
// significant first. Mapping: multipass.cuh, a block per row.
//
// Digits are those of the packed (key, index): ties cost up to four passes more, over the indices, where the original
// stops at any of the equal values. It stops as soon as a bucket is needed as a whole.
#include <algorithm>

#include "gpu/select/multipass/multipass.cuh"

namespace kith::gpu {

namespace {

struct DigitSplit {
    struct Splitters {};  // of the block, in shared memory: digits need none
    int shift = 56;

    __device__ DigitSplit(Splitters&, std::uint32_t) {}

    template <class Walk>
    __device__ Bucket narrow(const Walk& source, std::uint32_t, Interval& in, std::uint32_t need, MultipassShared& s) {
        const Packed low = in.low, width = in.high - in.low;
        const int digit = shift;
        const Bucket found = find_bucket(
            source, need, s, [=](Packed p) { return p - low <= width; },
            [=](const Packed(&entries)[4], std::uint32_t(&bucket)[4]) {
#pragma unroll
                for (int j = 0; j < 4; ++j) bucket[j] = static_cast<std::uint32_t>(entries[j] >> digit) & 255u;
            });
        in.low |= static_cast<Packed>(found.number) << shift;
        in.high = in.low | ((Packed{1} << shift) - 1);
        shift -= 8;
        return found;
    }
};

}  // namespace

void radix_select(const SelectJob& job, int) {
    multipass_select<DigitSplit>(job, std::max<std::int64_t>(job.n / 4, std::min<std::int64_t>(job.n, multipass_base)));
}

}  // namespace kith::gpu
