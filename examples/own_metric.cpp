// A metric of one's own, once as a C++ functor and once as a formula: sum of |q - x| / (1 + |q - x|), a distance in
// which no coordinate counts for more than 1.
#include <kith/functor.h>
#include <kith/kith.h>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

struct Bounded {
    double limit;
    double operator()(double a, double q, double x) const {
        const double t = std::fabs(q - x);
        return a + t / (limit + t);
    }
};

int main() {
    const std::int64_t n = 2'000, q = 20, d = 8, k = 4;
    std::vector<double> points(n * d), queries(q * d);
    std::mt19937 random(3);
    std::cauchy_distribution<double> wild;
    for (double& v : points) v = wild(random);
    for (double& v : queries) v = wild(random);

    const Bounded step{1.0};
    const kith::FunctorMetric metric = kith::functor_metric(step);
    kith::Options functor;
    functor.device = "cpu";  // for the GPU: kith/functor_cuda.h
    functor.metric = kith::MetricId::functor;
    functor.metric.functor = &metric;

    kith::Options formula;
    formula.metric = kith::MetricId::formula;
    formula.metric.formula = "a + fabs(q - x) / (1 + fabs(q - x))";

    const auto x = kith::view(points.data(), n, d), y = kith::view(queries.data(), q, d);
    const kith::Neighbors one = kith::search(x, y, k, functor), other = kith::search(x, y, k, formula);
    std::printf("nearest to query 0: point %lld at %g\n", static_cast<long long>(one.ids[0]), one.distances[0]);
    return one.ids == other.ids && one.distances == other.distances ? 0 : 1;
}
