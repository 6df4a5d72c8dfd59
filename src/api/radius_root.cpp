// See radius_root.h.
#include "api/radius_root.h"

#include <cmath>
#include <limits>

#include "cpu/search/ball.h"

namespace kith::api {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The radius of sqeuclidean that the same distance keys are within. Roots never fall: the ball's
// last key decides.
double squared(const MetricSpec& euclidean, double r, bool open) {
    const cpu::Ball ball(euclidean, r, open);
    if (!open) return ball.outer();
    return ball.empty() ? 0.0 : std::nextafter(ball.outer(), infinity);
}

// Hands on rows with the roots of their distances.
TakeRadiusRows with_roots(const TakeRadiusRows& take, bool f64) {
    return [&take, f64, roots = std::vector<double>(),
            rounded = std::vector<float>()](const RadiusRows& rows) mutable {
        const auto entries = static_cast<std::size_t>(rows.offsets[rows.count]);
        if (f64) roots.resize(entries);
        else rounded.resize(entries);
        for (std::size_t i = 0; i < entries; ++i) {
            const double root = std::sqrt(rows.distances64[i]);
            if (f64) roots[i] = root;
            else rounded[i] = static_cast<float>(root);
        }
        RadiusRows given = rows;
        given.distances = f64 ? nullptr : rounded.data();
        given.distances64 = f64 ? roots.data() : nullptr;
        take(given);
    };
}

}  // namespace

Report run_rooted(const RadiusCall& call, std::int64_t n, std::int64_t d,
                  const std::function<Report(const RadiusCall&)>& run) {
    MetricSpec euclidean;
    euclidean.id = MetricId::euclidean;
    euclidean.params.d = d;
    const std::int64_t q = call.queries ? call.queries->rows : n;
    std::vector<double> radii = radii_of(call.r, q, euclidean);
    Radius r;
    if (call.r.each.data) {
        for (double& each : radii) each = squared(euclidean, each, call.r.open);
        r = Radius(view(radii.data(), q, 1));
    } else {
        r = Radius(squared(euclidean, call.r.r, call.r.open));
    }
    r.open = call.r.open;
    Options options = call.options;
    options.f64 = true;
    RadiusWants wants = call.wants;
    TakeRadiusRows rooted;
    if (wants.take && !wants.keys) {
        rooted = with_roots(*wants.take, call.options.f64);
        wants.take = &rooted;
    }
    return run({call.queries, r, options, call.progress, wants});
}

}  // namespace kith::api
