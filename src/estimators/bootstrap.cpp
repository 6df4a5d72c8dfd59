// See bootstrap.h.
#include "estimators/bootstrap.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "exact/parts.h"
#include "exact/refuse.h"

namespace kith::estimators {

namespace {

// splitmix64 (Steele, Lea and Flood 2014): the same numbers on all machines.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    // In [0, n), n far below 2^64: the modulo bias is negligible next to the noise.
    std::size_t below(std::size_t n) { return static_cast<std::size_t>(next() % n); }

private:
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
};

// Splits rows 0 to n - 1 at random into `parts` parts of about equal size, in units of `stretch`
// consecutive rows. Each part is in ascending order.
Rows dealt(std::int64_t n, std::int64_t parts, std::int64_t stretch, Random& random) {
    std::vector<std::int64_t> order(static_cast<std::size_t>((n + stretch - 1) / stretch));
    std::iota(order.begin(), order.end(), std::int64_t{0});
    for (std::size_t left = order.size(); left > 1; --left)
        std::swap(order[left - 1], order[random.below(left)]);
    const auto count = static_cast<std::int64_t>(order.size());
    Rows out(static_cast<std::size_t>(parts));
    for (std::int64_t part = 0; part < parts; ++part) {
        const auto first = order.begin() + count * part / parts,
                   last = order.begin() + count * (part + 1) / parts;
        std::sort(first, last);
        std::vector<std::int64_t>& rows = out[static_cast<std::size_t>(part)];
        for (auto at = first; at != last; ++at)
            for (std::int64_t row = *at * stretch; row < std::min(n, (*at + 1) * stretch); ++row)
                rows.push_back(row);
    }
    return out;
}

}  // namespace

Bootstrap checked(const Bootstrap& bootstrap, const std::vector<std::int64_t>& sizes,
                  std::int64_t k, std::int64_t stretch) {
    Bootstrap out = bootstrap;
    if (out.repeats < 0)
        refuse("bootstrap: {} repeats; expected 0, for no error, or more", out.repeats);
    if (out.repeats == 0) return out;
    if (out.parts < 2) refuse("bootstrap: {} parts; expected at least 2", out.parts);
    if (out.stretch < 0)
        refuse("bootstrap: stretches of {} rows; expected at least 1, or 0", out.stretch);
    if (out.stretch == 0) out.stretch = stretch;
    const std::int64_t n = *std::min_element(sizes.begin(), sizes.end());
    // The part with the fewest stretches, if the short one is among them.
    const std::int64_t whole = n / out.stretch, rest = n % out.stretch;
    const std::int64_t least = rest == 0 ? whole / out.parts * out.stretch
                                         : ((whole + 1) / out.parts - 1) * out.stretch + rest;
    if (least <= k)
        refuse(
            "bootstrap: {} samples in {} parts of stretches of {}; expected parts of more than k, "
            "{}",
            n, out.parts, out.stretch, k);
    return out;
}

Estimate with_error(Estimate whole, const std::vector<std::int64_t>& sizes,
                    const Bootstrap& bootstrap, const Options& search_as,
                    const Estimator& estimate) {
    if (whole.samples == 0)
        refuse("samples: all {} are equal to others; nothing can be estimated", whole.left_out);
    if (bootstrap.repeats == 0) return whole;
    const std::int64_t parts = bootstrap.parts;
    PartsMeter progress(search_as.progress,
                        static_cast<double>(bootstrap.repeats) * static_cast<double>(parts),
                        "bootstrap");
    const Options of_parts = progress.of_part(search_as);
    Random random(bootstrap.seed);
    double variances = 0;
    for (std::int64_t repeat = 0; repeat < bootstrap.repeats; ++repeat) {
        std::vector<Rows> dealt_rows;
        for (const std::int64_t n : sizes)
            dealt_rows.push_back(dealt(n, parts, bootstrap.stretch, random));
        std::vector<double> values;
        for (std::int64_t part = 0; part < parts; ++part) {
            Rows rows;
            for (Rows& of : dealt_rows)
                rows.push_back(std::move(of[static_cast<std::size_t>(part)]));
            const Estimate of_part = progress.run(1, [&] { return estimate(rows, of_parts); });
            if (of_part.samples == 0)
                refuse(
                    "bootstrap: a part's {} samples are all equal to others; expected fewer parts "
                    "than {}",
                    of_part.left_out, parts);
            values.push_back(of_part.value);
        }
        const double mean =
            std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(parts);
        double squares = 0;
        for (const double v : values) squares += (v - mean) * (v - mean);
        variances += squares / static_cast<double>(parts - 1);
    }
    whole.error =
        std::sqrt(variances / static_cast<double>(bootstrap.repeats) / static_cast<double>(parts));
    return whole;
}

}  // namespace kith::estimators
