// See radius_room.h.
#include "api/radius_room.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "api/rows.h"
#include "kith/error.h"
#include "kith/memory.h"
#include "machine/memory.h"

namespace kith::api {

namespace {

// Queries that are counted first: a share that is not noticed, in some ranges, as near rows may be
// alike.
constexpr std::int64_t sampled_share = 128, most_sampled = 512, ranges = 8;
// Of free memory: rows that cannot take more are not counted, nor those whose sample lets expect
// less.
constexpr double may_take = 0.5, expected_to_take = 0.25;

double sum(const std::vector<std::int64_t>& counts) {
    return std::accumulate(counts.begin(), counts.end(), 0.0);
}

class Room {
public:
    Room(const RadiusCall& call, const MetricSpec& metric, const MatrixView& queries,
         const std::function<Report(const RadiusCall&)>& run)
        : call_(call),
          queries_(queries),
          run_(run),
          radii_(radii_of(call.r, queries.rows, metric)) {}

    // Of all queries, as some ranges of them let expect.
    double expected() const {
        const std::int64_t q = queries_.rows,
                           rows = std::clamp<std::int64_t>(q / sampled_share, 1, most_sampled),
                           each = std::max<std::int64_t>(1, rows / ranges);
        double found = 0, asked = 0;
        for (std::int64_t range = 0; range < std::min(rows, ranges); ++range) {
            const std::int64_t first =
                range * (q - each) / std::max<std::int64_t>(1, std::min(rows, ranges) - 1);
            const MatrixView some = rows_of(queries_, first, each);
            Radius r(view(radii_.data() + first, each, 1));
            r.open = call_.r.open;
            std::vector<std::int64_t> counts(static_cast<std::size_t>(each));
            run_({&some, r, call_.options, call_.progress, {.counts = counts.data()}});
            found += sum(counts);
            asked += static_cast<double>(each);
        }
        call_.progress.restart();
        return found / asked * static_cast<double>(q);
    }

    double counted() const {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(queries_.rows));
        run_({call_.queries,
              call_.r,
              call_.options,
              call_.progress,
              {.counts = counts.data(), .own = call_.wants.own}});
        call_.progress.restart();
        return sum(counts);
    }

private:
    const RadiusCall& call_;
    const MatrixView& queries_;
    const std::function<Report(const RadiusCall&)>& run_;
    std::vector<double> radii_;
};

}  // namespace

void require_room(const RadiusCall& call, const MetricSpec& metric, std::int64_t n,
                  const std::function<MatrixView()>& queries,
                  const std::function<Report(const RadiusCall&)>& run) {
    WholeAnswer* const whole = call.wants.whole;
    if (!whole) return;
    const double pair_bytes = 8 + (whole->f64 ? 8 : 4),
                 free = static_cast<double>(machine::recently_free_memory());
    if (static_cast<double>(whole->queries) * static_cast<double>(n) * pair_bytes <=
        may_take * free)
        return;
    const MatrixView all = queries();
    const Room room(call, metric, all, run);
    if (room.expected() * pair_bytes <= expected_to_take * free) return;
    const double pairs = room.counted(), bytes = pairs * pair_bytes;
    const std::int64_t left = free_memory();
    if (bytes > static_cast<double>(left))
        throw Error(
            ErrorCode::out_of_memory,
            fmt::format("r: {:.0f} pairs are within {}, and take {} of memory; {} are free. "
                        "radius_blocks() hands "
                        "rows on as they are found, radius_counts() only counts them",
                        pairs, whole->radius, machine::in_words(static_cast<std::int64_t>(bytes)),
                        machine::in_words(left)));
    whole->pairs = static_cast<std::int64_t>(pairs);
}

}  // namespace kith::api
