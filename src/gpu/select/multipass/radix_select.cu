// Radix select (Hanak 2023, 3.7.2 and 4.3): multi-pass selection whose buckets are digits of eight
// bits, the most significant first. Mapping: multipass.cuh, a block per row.
//
// Digits are those of the packed (key, index): ties cost up to four passes more, over the indices,
// where the original stops at any of the equal values. It stops as soon as a bucket is needed as a
// whole.
//
// "radix-select-rescaled": digits of (entry - least) scaled to the span of the row's entries, which
// one more pass finds (3.7.2's remedy for digits that all values share, as those of distances in
// many dimensions do).
#include <algorithm>

#include "gpu/select/multipass/multipass.cuh"

namespace kith::gpu {

namespace {

struct DigitSplit {
    struct Splitters {};  // of the block, in shared memory: digits need none
    int shift = 56;

    __device__ DigitSplit(Splitters&, std::uint32_t) {}

    template <class Walk>
    __device__ Bucket narrow(const Walk& source, std::uint32_t, Interval& in, std::uint32_t need,
                             MultipassShared& s) {
        const Packed low = in.low, width = in.high - in.low;
        const int digit = shift;
        const Bucket found = find_bucket(
            source, need, s, [=](Packed p) { return p - low <= width; },
            [=](const Packed(&entries)[4], std::uint32_t(&bucket)[4]) {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    bucket[j] = static_cast<std::uint32_t>(entries[j] >> digit) & 255u;
            });
        in.low |= static_cast<Packed>(found.number) << shift;
        in.high = in.low | ((Packed{1} << shift) - 1);
        shift -= 8;
        return found;
    }
};

// Digits from the highest bit on in which the entries differ.
struct RescaledSplit {
    struct Splitters {
        Packed least[multipass_threads / 32], most[multipass_threads / 32];  // of a warp's entries
    };
    Splitters& ends;
    int shift = -1;  // of the last digit taken; -1: none

    __device__ RescaledSplit(Splitters& shared, std::uint32_t) : ends(shared) {}

    template <class Walk>
    __device__ Bucket narrow(const Walk& source, std::uint32_t, Interval& in, std::uint32_t need,
                             MultipassShared& s) {
        if (shift < 0) {
            in = span(source);
            shift = max(64 - __clzll(static_cast<long long>(in.high - in.low)), 8);
        }
        shift = max(shift - 8, 0);
        const Packed low = in.low, width = in.high - in.low;
        const int digit = shift;
        const Bucket found = find_bucket(
            source, need, s, [=](Packed p) { return p - low <= width; },
            [=](const Packed(&entries)[4], std::uint32_t(&bucket)[4]) {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    bucket[j] = static_cast<std::uint32_t>((entries[j] - low) >> digit) & 255u;
            });
        in.low += static_cast<Packed>(found.number) << shift;
        in.high = in.low + min(in.high - in.low, (Packed{1} << shift) -
                                                     1);  // the last bucket may end behind all keys
        return found;
    }

private:
    // The least and the greatest entry; whole block.
    template <class Walk>
    __device__ Interval span(const Walk& source) const {
        Interval all{packed_end, 0};
        source.walk([&](const Packed(&entries)[4], unsigned valid) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                if (!(valid >> j & 1u)) continue;
                all.low = min(all.low, entries[j]);
                all.high = max(all.high, entries[j]);
            }
        });
        for (int apart = 16; apart > 0; apart /= 2) {
            all.low = min(all.low, __shfl_xor_sync(whole_warp, all.low, apart));
            all.high = max(all.high, __shfl_xor_sync(whole_warp, all.high, apart));
        }
        __syncthreads();
        if (threadIdx.x % 32 == 0) {
            ends.least[threadIdx.x / 32] = all.low;
            ends.most[threadIdx.x / 32] = all.high;
        }
        __syncthreads();
        for (int warp = 0; warp < multipass_threads / 32; ++warp) {
            all.low = min(all.low, ends.least[warp]);
            all.high = max(all.high, ends.most[warp]);
        }
        return all;
    }
};

}  // namespace

// variant: 1 rescales.
void radix_select(const SelectJob& job, int variant) {
    const std::int64_t capacity =
        std::max<std::int64_t>(job.n / 4, std::min<std::int64_t>(job.n, multipass_base));
    if (variant == 1) multipass_select<RescaledSplit>(job, capacity);
    else multipass_select<DigitSplit>(job, capacity);
}

}  // namespace kith::gpu
