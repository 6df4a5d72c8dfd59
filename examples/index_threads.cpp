// An Index searched from several threads at once: each gets the answer that one thread would have got, to the last bit.
#include <kith/kith.h>

#include <cstdio>
#include <random>
#include <thread>
#include <vector>

int main() {
    const std::int64_t n = 20'000, q = 64, d = 32, k = 10;
    const int threads = 4;
    std::vector<float> points(n * d), queries(threads * q * d);
    std::mt19937 random(2);
    std::uniform_real_distribution<float> uniform;
    for (float& v : points) v = uniform(random);
    for (float& v : queries) v = uniform(random);

    // Prepared once: `points` may go now.
    const kith::Index index(kith::view(points.data(), n, d));
    std::vector<kith::Neighbors> found(threads);
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
        workers.emplace_back([&, t] {
            kith::Options options;
            options.threads = 1;  // the program's own threads are enough
            found[t] = index.search(kith::view(queries.data() + t * q * d, q, d), k, options);
        });
    }
    for (std::thread& worker : workers) worker.join();

    const kith::Neighbors together = index.search(kith::view(queries.data(), threads * q, d), k);
    for (int t = 0; t < threads; ++t) {
        for (std::int64_t i = 0; i < q * k; ++i) {
            const std::int64_t at = t * q * k + i;
            if (found[t].ids[i] != together.ids[at] || found[t].distances[i] != together.distances[at]) return 1;
        }
    }
    std::printf("%d threads, %lld queries each: the same neighbours\n", threads, static_cast<long long>(q));
}
