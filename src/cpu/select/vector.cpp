// Selection against a threshold: whole vectors of values are compared with it, the few that pass go
// to a buffer, which nth_element cuts back to k (and lowers the threshold by) when it is full.
//
// The first threshold comes from a sample, so that about two k pass in any order of the values. It
// is a guess: where fewer than k values pass, the slice is read again without it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/primitives/within.h"
#include "cpu/select/selector.h"

namespace kith::cpu {

namespace {

// Values compared between two looks at the threshold: in the first level of cache, with their
// positions.
constexpr std::int64_t block_values = 2048;
// A sample of one value in 64 costs a small part of the pass that it saves; fewer than these many
// say too little, more sharpen nothing.
constexpr std::int64_t sample_share = 64, least_samples = 128, most_samples = 4096;
// Shorter slices, and those that keep over a third, take the threshold of their first full buffer.
constexpr std::int64_t least_sampled = 512, largest_share = 3;

template <class T>
Within<T> kernel(Isa isa) {
    if constexpr (sizeof(T) == 4) return within_kernels(isa).f32;
    else return within_kernels(isa).f64;
}

// Everything but NaN is within it.
template <class T>
T loosest(bool largest) {
    const T infinity = std::numeric_limits<T>::infinity();
    return largest ? -infinity : infinity;
}

// The threshold that exactly the values better than `v` are within; NaN where there are none.
template <class T>
T better_than(T v, bool largest) {
    if (v != v) return loosest<T>(largest);
    const T best = -loosest<T>(largest);
    return v == best ? std::numeric_limits<T>::quiet_NaN() : std::nextafter(v, best);
}

template <class T>
class Collector {
public:
    Collector(const RowSlice<T>& slice, std::vector<Packed<T>>& kept)
        : slice_(slice),
          kept_(kept),
          within_(kernel<T>(slice.isa)),
          capacity_(static_cast<std::size_t>(2 * slice.k + 2048)) {
        kept_.clear();
        kept_.reserve(std::min(capacity_ + 1, static_cast<std::size_t>(slice.count)));
    }

    // Values beyond the threshold need not be kept.
    void set_threshold(T threshold) {
        limited_ = true;
        threshold_ = threshold;
    }

    void pass() {
        T gathered[block_values];
        for (std::int64_t first = 0; first < slice_.count; first += block_values) {
            if (limited_ && threshold_ != threshold_) return;
            const std::int64_t count = std::min(block_values, slice_.count - first);
            const T* values = slice_.values + first * slice_.step;
            if (slice_.step != 1) {
                for (std::int64_t i = 0; i < count; ++i) gathered[i] = values[i * slice_.step];
                values = gathered;
            }
            block(values, first, count);
        }
    }

    // Back to k, which lowers the threshold.
    void cut() {
        const auto k = static_cast<std::size_t>(slice_.k);
        if (kept_.size() < k) return;
        std::nth_element(kept_.begin(), kept_.begin() + (slice_.k - 1), kept_.end());
        kept_.resize(k);
        worst_ = key_of<T>(kept_.back());
        set_threshold(better_than(slice_[index_of<T>(kept_.back())], slice_.largest));
    }

private:
    void add(T value, std::int64_t index) {
        const Key<T> key = exact::Order<T>::key(value, slice_.largest);
        // NaN is kept until there is a threshold.
        if (limited_ && key >= worst_) return;
        kept_.push_back(pack<T>(key, index));
        if (kept_.size() > capacity_) cut();
    }

    void block(const T* values, std::int64_t first, std::int64_t count) {
        if (!limited_) {
            for (std::int64_t i = 0; i < count; ++i) add(values[i], first + i);
            return;
        }
        std::uint32_t positions[block_values];
        const std::int64_t passed = within_(values, count, threshold_, slice_.largest, positions);
        for (std::int64_t i = 0; i < passed; ++i) add(values[positions[i]], first + positions[i]);
    }

    const RowSlice<T>& slice_;
    std::vector<Packed<T>>& kept_;
    Within<T> within_;
    std::size_t capacity_;
    bool limited_ = false;
    T threshold_ = 0;
    Key<T> worst_ = exact::Order<T>::nan;  // of the k-th, once there has been a cut
};

// A value that about twice k values are better than; NaN where the sample holds too few numbers.
template <class T>
T guess(const RowSlice<T>& slice, std::vector<Packed<T>>& sample) {
    const std::int64_t count = std::clamp(slice.count / sample_share, least_samples, most_samples),
                       step = slice.count / count;
    sample.clear();
    for (std::int64_t i = 0; i < count; ++i) sample.push_back(slice.packed(i * step));
    // Enough beyond the expected rank of the k-th that one slice in thousands has to be read again.
    const double expected = static_cast<double>(slice.k * count) / static_cast<double>(slice.count);
    const auto rank = static_cast<std::int64_t>(std::ceil(expected + 4 * std::sqrt(expected) + 4));
    if (rank >= count) return std::numeric_limits<T>::quiet_NaN();
    std::nth_element(sample.begin(), sample.begin() + rank, sample.end());
    return slice[index_of<T>(sample[static_cast<std::size_t>(rank)])];
}

}  // namespace

template <class T>
void select_vector(const RowSlice<T>& slice, std::vector<Packed<T>>& kept) {
    bool enough = false;
    if (slice.count >= least_sampled && slice.k <= slice.count / largest_share) {
        const T threshold = guess(slice, kept);
        if (threshold == threshold) {
            Collector<T> collector(slice, kept);
            collector.set_threshold(threshold);
            collector.pass();
            enough = static_cast<std::int64_t>(kept.size()) >= slice.k;
            if (enough) collector.cut();
        }
    }
    if (!enough) {
        Collector<T> collector(slice, kept);
        collector.pass();
        collector.cut();
    }
    if (slice.sorted) std::sort(kept.begin(), kept.end());
}

KITH_INSTANTIATE_SELECTOR(select_vector)

}  // namespace kith::cpu
