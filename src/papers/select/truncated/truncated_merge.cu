// Truncated merge sort (Sismanis 2012, section 2): sublists grow from length one to k by pairwise
// merges; the later merges purge their upper half. Mapping: truncated_chunks.cuh, a block per slice
// of a row.
#include "papers/select/truncated/truncated_chunks.cuh"

namespace kith::gpu {

namespace {

struct MergedSublists {
    static __device__ void sort(Packed*& now, Packed*& other, int count, int length, Tally& tally) {
        for (int grown = 1; grown < length; grown *= 2) {
            merge_pairs(now, count, grown, 2 * grown, other, tally);
            Packed* const merged = other;
            other = now;
            now = merged;
        }
    }
};

}  // namespace

void truncated_merge(const SelectJob& job, int) {
    truncated_chunks<MergedSublists>(job);
}

}  // namespace kith::gpu
