// The example of the README: four points and a query in the plane.
#include <kith/kith.h>

#include <cstdio>
#include <vector>

int main() {
    // One point a row.
    const std::vector<float> points = {0, 0, 3, 4, 1, 1, 2, 2}, queries = {0.9f, 1};
    kith::Options options;
    options.metric = kith::MetricId::euclidean;
    const kith::Neighbors found =
        kith::search(kith::view(points.data(), 4, 2), kith::view(queries.data(), 1, 2), 3, options);
    for (int j = 0; j < 3; ++j) std::printf("point %d at %g\n", static_cast<int>(found.ids[j]), found.distances[j]);
}
