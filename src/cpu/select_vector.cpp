// Selection against a threshold: whole vectors of values are compared with it, the few that pass go to a buffer, which
// nth_element cuts back to k (and lowers the threshold by) when it is full.
//
// The first threshold comes from a sample, so that about two k pass in any order of the values. It is a guess: where
// fewer than k values pass, the run is read again without it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "cpu/selector.h"
#include "cpu/within.h"

namespace kith::cpu {

namespace {

// Values compared between two looks at the threshold: in the first level of cache, with their positions.
constexpr std::int64_t block_values = 2048;
// A sample of one value in 64 costs a small part of the pass that it saves; fewer than these many say too little, more
// sharpen nothing.
constexpr std::int64_t sample_share = 64, least_samples = 128, most_samples = 4096;
// Shorter runs, and those that keep over a third, take the threshold of their first full buffer.
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

// The limit that exactly the values better than `v` are within; NaN where there are none.
template <class T>
T better_than(T v, bool largest) {
    if (v != v) return loosest<T>(largest);
    const T best = -loosest<T>(largest);
    return v == best ? std::numeric_limits<T>::quiet_NaN() : std::nextafter(v, best);
}

template <class T>
class Collector {
public:
    Collector(const Run<T>& run, std::vector<Packed<T>>& kept)
        : run_(run), kept_(kept), within_(kernel<T>(run.isa)), capacity_(static_cast<std::size_t>(2 * run.k + 2048)) {
        kept_.clear();
        kept_.reserve(std::min(capacity_ + 1, static_cast<std::size_t>(run.count)));
    }

    // Values beyond the limit need not be kept.
    void set_limit(T limit) {
        limited_ = true;
        limit_ = limit;
    }

    void pass() {
        T gathered[block_values];
        for (std::int64_t first = 0; first < run_.count; first += block_values) {
            if (limited_ && limit_ != limit_) return;
            const std::int64_t count = std::min(block_values, run_.count - first);
            const T* values = run_.values + first * run_.step;
            if (run_.step != 1) {
                for (std::int64_t i = 0; i < count; ++i) gathered[i] = values[i * run_.step];
                values = gathered;
            }
            block(values, first, count);
        }
    }

    // Back to k, which lowers the limit.
    void cut() {
        const auto k = static_cast<std::size_t>(run_.k);
        if (kept_.size() < k) return;
        std::nth_element(kept_.begin(), kept_.begin() + (run_.k - 1), kept_.end());
        kept_.resize(k);
        worst_ = key_of<T>(kept_.back());
        set_limit(better_than(run_[index_of<T>(kept_.back())], run_.largest));
    }

private:
    void add(T value, std::int64_t index) {
        const Key<T> key = exact::Order<T>::key(value, run_.largest);
        // NaN is kept until there is a limit.
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
        const std::int64_t passed = within_(values, count, limit_, run_.largest, positions);
        for (std::int64_t i = 0; i < passed; ++i) add(values[positions[i]], first + positions[i]);
    }

    const Run<T>& run_;
    std::vector<Packed<T>>& kept_;
    Within<T> within_;
    std::size_t capacity_;
    bool limited_ = false;
    T limit_ = 0;
    Key<T> worst_ = exact::Order<T>::nan;  // of the k-th, once there has been a cut
};

// A value that about twice k values are better than; NaN where the sample holds too few numbers.
template <class T>
T guess(const Run<T>& run, std::vector<Packed<T>>& sample) {
    const std::int64_t count = std::clamp(run.count / sample_share, least_samples, most_samples),
                       step = run.count / count;
    sample.clear();
    for (std::int64_t i = 0; i < count; ++i) sample.push_back(run.packed(i * step));
    // Enough beyond the expected rank of the k-th that one run in thousands has to be read again.
    const double expected = static_cast<double>(run.k * count) / static_cast<double>(run.count);
    const auto rank = static_cast<std::int64_t>(std::ceil(expected + 4 * std::sqrt(expected) + 4));
    if (rank >= count) return std::numeric_limits<T>::quiet_NaN();
    std::nth_element(sample.begin(), sample.begin() + rank, sample.end());
    return run[index_of<T>(sample[static_cast<std::size_t>(rank)])];
}

}  // namespace

template <class T>
void select_vector(const Run<T>& run, std::vector<Packed<T>>& kept) {
    bool enough = false;
    if (run.count >= least_sampled && run.k <= run.count / largest_share) {
        const T limit = guess(run, kept);
        if (limit == limit) {
            Collector<T> collector(run, kept);
            collector.set_limit(limit);
            collector.pass();
            enough = static_cast<std::int64_t>(kept.size()) >= run.k;
            if (enough) collector.cut();
        }
    }
    if (!enough) {
        Collector<T> collector(run, kept);
        collector.pass();
        collector.cut();
    }
    if (run.sorted) std::sort(kept.begin(), kept.end());
}

KITH_INSTANTIATE_SELECTOR(select_vector)

}  // namespace kith::cpu
