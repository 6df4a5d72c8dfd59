// Twenty lines against an installed kith: three points, one query, its two nearest.
#include <kith/kith.h>

#include <cstdio>
#include <vector>

int main() {
    const std::vector<float> points = {0, 0, 3, 4, 1, 1};
    const std::vector<float> queries = {0.9f, 1};
    try {
        kith::Options options;
        options.metric = kith::MetricId::euclidean;
        const auto found = kith::search(kith::view(points.data(), 3, 2), kith::view(queries.data(), 1, 2), 2, options);
        std::printf("kith %s: %lld at %g, %lld at %g\n", KITH_VERSION, static_cast<long long>(found.ids[0]),
                    found.distances[0], static_cast<long long>(found.ids[1]), found.distances[1]);
        return found.ids == std::vector<std::int64_t>{2, 0} ? 0 : 1;
    } catch (const kith::Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
