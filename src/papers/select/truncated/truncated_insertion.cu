// Truncated insertion sort (Sismanis 2012, section 2): subcorpora with a private sorted list of k
// entries each, merged pairwise. Mapping: truncated_warps.cuh, a warp per subcorpus; a lane owns
// every 32nd place of the list.
#include "papers/select/truncated/truncated_warps.cuh"

namespace kith::gpu {

namespace {

class SortedList {
public:
    __device__ SortedList(Packed* list, int k) : list_(list), k_(k) {}

    __device__ Packed worst() const { return list_[k_ - 1]; }

    // Moves the larger entries up by one place, 32 at a time from the list's end, until the gap is
    // the entry's place.
    __device__ void insert(Packed p, Tally& tally) {
        const int lane = static_cast<int>(threadIdx.x);
        const int last = used_ < k_ ? used_++ : k_ - 1;  // the place that is filled or given up
        for (int base = last / 32 * 32; base >= 0; base -= 32) {
            const int place = base + lane;
            const bool inside = place <= last;
            const Packed before = inside && place > 0 ? list_[place - 1] : 0;
            const bool moves = inside && place > 0 && before > p;
            if (inside && place > 0) tally.compared();
            const unsigned moving = __ballot_sync(whole_warp, moves);
            const bool goes_on =
                base > 0 && (moving & 1u);  // place `base` takes the entry in front of this chunk
            __syncwarp();
            if (moves) list_[place] = before;
            // The entries that move are the upper ones: the new one goes below the lowest of them.
            const int gap =
                moving ? base + __ffs(static_cast<int>(moving)) - 2 : min(last, base + 31);
            if (!goes_on && place == gap) list_[place] = p;
            if (moves || (!goes_on && place == gap)) tally.moved();
            __syncwarp();
            if (!goes_on) break;
        }
    }

    __device__ void sort(Tally&) {}

private:
    Packed* list_;
    int k_, used_ = 0;
};

}  // namespace

void truncated_insertion(const SelectJob& job, int) {
    truncated_warps<SortedList>(job);
}

}  // namespace kith::gpu
