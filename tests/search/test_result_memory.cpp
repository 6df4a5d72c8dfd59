// What a search allocates beside its result: little, however many neighbours are asked for.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <new>
#include <vector>

#include "kith/kith.h"

#ifndef KITH_SANITIZED  // which have an operator new of their own

namespace {

std::atomic<std::int64_t> held{0}, peak{0};

// The size lies before the memory.
constexpr std::size_t header = 16;

void* take(std::size_t bytes) {
    auto* const p = static_cast<char*>(std::malloc(bytes + header));
    if (!p) throw std::bad_alloc();
    *reinterpret_cast<std::size_t*>(p) = bytes;
    const std::int64_t now = held += static_cast<std::int64_t>(bytes);
    for (std::int64_t seen = peak; now > seen && !peak.compare_exchange_weak(seen, now);) {
    }
    return p + header;
}

void give(void* p) noexcept {
    if (!p) return;
    char* const start = static_cast<char*>(p) - header;
    held -= static_cast<std::int64_t>(*reinterpret_cast<std::size_t*>(start));
    std::free(start);
}

}  // namespace

void* operator new(std::size_t bytes) {
    return take(bytes);
}
void operator delete(void* p) noexcept {
    give(p);
}
void operator delete(void* p, std::size_t) noexcept {
    give(p);
}

namespace {

// The most that is allocated at the same time while f runs.
template <class F>
std::int64_t most_during(const F& f) {
    const std::int64_t before = held;
    peak = before;
    f();
    return peak - before;
}

std::vector<float> points(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 2654435761u >> 7 & 1023);
    return values;
}

kith::Options on_cpu(const char* path) {
    kith::Options options;
    options.device = "cpu";
    options.threads = 2;
    options.path = path;
    return options;
}

TEST(ResultMemory, AGraphOfAllNeighboursTakesLittleBesideItsResult) {
    constexpr std::int64_t n = 3000, d = 4, k = n - 1;
    const std::vector<float> data = points(n * d);
    const std::int64_t result = n * k * 12;
    EXPECT_LT(most_during([&] { kith::graph(kith::view(data.data(), n, d), k, on_cpu("exact")); }), result * 13 / 10);
}

TEST(ResultMemory, NeighboursBeyondThePointsTakeNothing) {
    constexpr std::int64_t n = 500, d = 4, q = 20, k = 500'000;
    const std::vector<float> data = points(n * d);
    std::vector<std::int64_t> ids(q * k);
    std::vector<float> distances(q * k);
    const auto view = kith::view(data.data(), n, d);
    for (const char* path : {"exact", "gemm-f32"}) {
        const std::int64_t most = most_during([&] {
            kith::search_into(view, kith::view(data.data(), q, d), k, on_cpu(path), {ids.data(), distances.data()});
        });
        EXPECT_LT(most, 8 << 20) << path;
        EXPECT_GE(ids[n - 1], 0);
        EXPECT_EQ(-1, ids[n]);
        EXPECT_EQ(-1, ids[q * k - 1]);
        EXPECT_EQ(std::numeric_limits<float>::infinity(), distances[q * k - 1]);
    }
}

// As if so many bytes more were free, for as long as it lives.
class Free {
public:
    explicit Free(std::int64_t bytes) {
        getrlimit(RLIMIT_AS, &before_);
        std::int64_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlimit limit{static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE) + bytes), before_.rlim_max};
        setrlimit(RLIMIT_AS, &limit);
        usleep(200'000);  // what was free is remembered for a tenth of a second
    }
    ~Free() {
        setrlimit(RLIMIT_AS, &before_);
        usleep(200'000);
    }
    Free(const Free&) = delete;
    Free& operator=(const Free&) = delete;

private:
    rlimit before_{};
};

// Rows within a radius that do not fit are counted, and refused before any is listed.
TEST(ResultMemory, RadiiThatDoNotFitAreRefusedBeforeTheWork) {
    constexpr std::int64_t n = 10'000, q = 8'000, d = 2;
    const std::vector<float> data = points(n * d);
    const auto x = kith::view(data.data(), n, d), y = kith::view(data.data(), q, d);
    for (const bool index : {false, true}) {
        const kith::Index prepared(x, on_cpu(""));
        const auto refused = [&](const kith::Radius& r, bool graph) {
            std::string text;
            const std::int64_t most = most_during([&] {
                try {
                    if (graph) index ? prepared.radius_graph(r) : kith::radius_graph(x, r, on_cpu(""));
                    else index ? prepared.radius(y, r) : kith::radius(x, y, r, on_cpu(""));
                } catch (const kith::Error& error) {
                    EXPECT_EQ(kith::ErrorCode::out_of_memory, error.code());
                    text = error.what();
                }
            });
            EXPECT_LT(most, 100 << 20) << text;
            return text;
        };
        const Free free(std::int64_t{700} << 20);
        for (const char* part : {"r: 80000000 pairs are within 5000", "915.5 MiB", "free", "radius_blocks()"})
            EXPECT_NE(std::string::npos, refused(5000, false).find(part)) << part;
        const std::vector<double> each(q, 4000.0);
        EXPECT_EQ(0u, refused(kith::view(each.data(), q, 1), false).find("r: 80000000 pairs are within the radii"));
        EXPECT_EQ(0u, refused(5000, true).find("r: 99990000 pairs are within 5000"));
        EXPECT_EQ("", refused(2, false));  // a few
    }
}

// Those that may just fit are counted as well, and get the room that they need.
TEST(ResultMemory, RadiiThatFitTakeTheRoomOfTheirResult) {
    constexpr std::int64_t n = 4'000, d = 2;
    const std::vector<float> data = points(n * d);
    const auto x = kith::view(data.data(), n, d);
    std::vector<std::int64_t> ids;
    kith::radius_graph_blocks(x, 5000.0, on_cpu(""), [&](const kith::RadiusRows& rows) {
        ids.insert(ids.end(), rows.ids, rows.ids + rows.offsets[rows.count]);
    });
    const Free free(std::int64_t{340} << 20);
    kith::Options options = on_cpu("");
    options.memory = 8 << 20;  // for rows on their way
    const kith::RadiusNeighbors found = kith::radius_graph(x, 5000.0, options);
    EXPECT_EQ(ids, found.ids);
    EXPECT_EQ(found.ids.size(), found.ids.capacity());
    EXPECT_EQ(found.distances.size(), found.distances.capacity());
}

}  // namespace

#endif

TEST(ResultMemory, WhatCannotFitIsRefusedAndSaysWhatIsFree) {
    const std::vector<float> data(100, 1.0f);
    const auto view = kith::view(data.data(), 10, 10);
    kith::Options options;
    options.device = "cpu";
    try {
        kith::search(view, view, std::int64_t{1} << 40, options);
        FAIL() << "not refused";
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::out_of_memory, error.code());
        const std::string text = error.what();
        EXPECT_NE(std::string::npos, text.find("k: 1099511627776 for 10 queries")) << text;
        EXPECT_NE(std::string::npos, text.find("free")) << text;
    }
}
