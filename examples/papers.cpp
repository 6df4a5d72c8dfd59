// The papers' algorithms by name, as docs/papers/ quotes them. They need a GPU and a build with KITH_PAPERS; without
// one the library refuses them, and the program ends with 77.
#include <kith/distances.h>
#include <kith/kith.h>

#include <cstdio>
#include <random>
#include <vector>

namespace {

kith::Neighbors garcia(const kith::MatrixView& points, const kith::MatrixView& queries) {
    kith::Options options;
    options.device = "cuda";
    options.path = "garcia+insertion-sort";
    const kith::Neighbors found = kith::search(points, queries, 20, options);
    return found;
}

kith::Distances garcia_alone(const kith::MatrixView& points, const kith::MatrixView& queries) {
    kith::Options options;
    options.device = "cuda";
    options.path = "garcia";
    const kith::Distances estimated = kith::distances(points, queries, options);
    return estimated;
}

kith::Neighbors hanak(const kith::MatrixView& points, const kith::MatrixView& queries) {
    kith::Options options;
    options.device = "cuda";
    options.path = "register-tiled+bits";
    const kith::Neighbors found = kith::search(points, queries, 10, options);
    return found;
}

kith::Neighbors kato(const kith::MatrixView& users) {
    kith::Options options;
    options.metric = kith::MetricId::hellinger;
    options.device = "cuda:all";
    options.path = "kato";
    const kith::Neighbors found = kith::graph(users, 100, options);
    return found;
}

kith::Neighbors sismanis(const kith::MatrixView& features, const kith::MatrixView& queries) {
    kith::Options options;
    options.device = "cuda";
    options.path = "sismanis-segments";
    const kith::Neighbors found = kith::search(features, queries, 32, options);
    return found;
}

kith::Neighbors tang(const kith::MatrixView& distances) {
    kith::Options options;
    options.device = "cuda";
    options.selector = "merge-queue-aligned+buffer+hp";
    const kith::Neighbors found = kith::select(distances, 100, options);
    return found;
}

}  // namespace

int main() {
    constexpr std::int64_t n = 2000, q = 100, d = 32;
    std::mt19937 random(0);
    std::uniform_real_distribution<float> uniform;
    std::vector<float> values(n * d);
    for (float& value : values) value = uniform(random);
    const kith::MatrixView points = kith::view(values.data(), n, d), queries = kith::view(values.data(), q, d);
    try {
        for (const kith::Neighbors& found : {garcia(points, queries), hanak(points, queries), kato(points),
                                             sismanis(points, queries), tang(kith::view(values.data(), d, n))})
            std::printf("%lld\n", static_cast<long long>(found.ids[0]));
        std::printf("%g\n", garcia_alone(points, queries).values[1]);
    } catch (const kith::Error& error) {
        std::printf("%s\n", error.what());
        const bool absent =
            error.code() == kith::ErrorCode::device || error.code() == kith::ErrorCode::invalid_argument;
        return absent ? 77 : 1;
    }
    return 0;
}
