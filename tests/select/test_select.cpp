// select() on the CPU: the k smallest or largest of each row, by every selector.
#include <gtest/gtest.h>

#include <limits>

#include "cpu/primitives/within.h"
#include "cpu/select/selectors.h"
#include "cpu/simd/isa.h"
#include "gpu/select/selectors.h"
#include "select_cases.h"
#include "select_ragged.h"

namespace {

using select_cases::Case;

kith::Options on_cpu(int threads, const std::string& selector = "", const std::string& isa = "") {
    kith::Options options;
    options.device = "cpu";
    options.threads = threads;
    options.selector = selector;
    options.isa = isa;
    return options;
}

// Values below, at and above the threshold, and NaN, in blocks of vectors and in what is left behind them.
template <class T>
void positions_are_right(kith::cpu::Within<T> within, const char* isa) {
    constexpr std::int64_t most = 200;
    const T threshold = 3, nan = std::numeric_limits<T>::quiet_NaN();
    for (std::int64_t count = 0; count <= most; ++count) {
        std::vector<T> values;
        for (std::int64_t i = 0; i < count; ++i)
            values.push_back(i % 11 == 5 ? nan : static_cast<T>((i * 7 + count) % 5 + 1));
        for (const bool largest : {false, true}) {
            std::vector<std::uint32_t> expected, got(static_cast<std::size_t>(count) + 1);
            for (std::int64_t i = 0; i < count; ++i) {
                const T v = values[static_cast<std::size_t>(i)];
                if (largest ? v >= threshold : v <= threshold) expected.push_back(static_cast<std::uint32_t>(i));
            }
            got.resize(static_cast<std::size_t>(within(values.data(), count, threshold, largest, got.data())));
            ASSERT_EQ(expected, got) << isa << ", " << count << " values" << (largest ? ", largest" : "");
            got.resize(static_cast<std::size_t>(count) + 1);
            ASSERT_EQ(0, within(values.data(), count, nan, largest, got.data())) << isa;
        }
    }
}

TEST(Select, PositionsWithinAThreshold) {
    for (int i = 0; i < kith::cpu::isa_count; ++i) {
        const auto isa = static_cast<kith::cpu::Isa>(i);
        if (!kith::cpu::supported(isa)) continue;
        positions_are_right(kith::cpu::within_kernels(isa).f32, kith::cpu::name(isa));
        positions_are_right(kith::cpu::within_kernels(isa).f64, kith::cpu::name(isa));
    }
}

TEST(Select, NarrowValuesAndRowsOfDifferentLengths) {
    select_cases::for_every_ragged([](const select_cases::Ragged& r) {
        select_cases::check_on_host(r, on_cpu(1));
        select_cases::check_on_host(r, on_cpu(3));
    });
}

// Rows that are cut into parts, of which some are empty.
TEST(Select, LongRowsOfDifferentLengths) {
    constexpr std::int64_t n = 700000;
    for (const auto type : {kith::ElementType::f32, kith::ElementType::f16}) {
        auto r = select_cases::make_ragged("ties", 2, n, 50, type, arrays::Shape::dense, false, true, 3);
        select_cases::check_on_host(r, on_cpu(4));
        r = select_cases::make_ragged("gaussian", 2, n, 50, type, arrays::Shape::column_major, true, false, 5);
        select_cases::check_on_host(r, on_cpu(4));
    }
}

TEST(Select, WidensWhatItReturns) {
    const auto r = select_cases::make_ragged("mixed", 6, 300, 20, kith::ElementType::bf16, arrays::Shape::strided, true,
                                             false, 11);
    const kith::Neighbors got = kith::select(r.array.view, r.k, r.options(on_cpu(1)));
    EXPECT_EQ(r.expected, got.ids);
    for (std::size_t i = 0; i < got.ids.size(); ++i) {
        const double want = kith::exact::load(r.values.data(), kith::ElementType::bf16, static_cast<std::int64_t>(i));
        EXPECT_TRUE(got.distances[i] == want || (std::isnan(want) && std::isnan(got.distances[i])));
    }
}

// What is refused names the argument.
void refuses(const std::string& word, const kith::MatrixView& matrix, const kith::Options& options) {
    std::vector<std::int64_t> ids(static_cast<std::size_t>(matrix.rows));
    try {
        kith::select_into(matrix, 1, options, {ids.data(), nullptr, kith::host_memory});
        ADD_FAILURE() << word;
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
        EXPECT_NE(std::string::npos, std::string(error.what()).find(word)) << error.what();
    }
}

TEST(Select, RefusesLengthsThatCannotBe) {
    const std::vector<float> values(12);
    const auto matrix = kith::view(values.data(), 3, 4);
    const std::vector<std::int64_t> lengths{4, 5, 4, -1, 0, 1};
    kith::Options options = on_cpu(1);
    options.lengths = kith::view(lengths.data(), 3, 1);
    refuses("lengths: 5 in row 1", matrix, options);
    options.lengths = kith::view(lengths.data() + 3, 3, 1);
    refuses("lengths: -1 in row 0", matrix, options);
    options.lengths = kith::view(lengths.data(), 2, 1);
    refuses("lengths: 2 x 1", matrix, options);
    options.lengths = kith::view(lengths.data(), 3, 1, 2);
    refuses("stride 2", matrix, options);
    options.lengths = kith::view(values.data(), 3, 1);
    refuses("of f32", matrix, options);
    options = on_cpu(1);
    options.enqueue = true;
    refuses("enqueue", matrix, options);
}

TEST(Select, ASearchIsNotOnlyEnqueued) {
    const std::vector<float> values(12);
    const auto matrix = kith::view(values.data(), 3, 4);
    kith::Options options = on_cpu(1);
    options.enqueue = true;
    EXPECT_THROW(kith::search(matrix, matrix, 1, options), kith::Error);
}

TEST(Select, EveryKind) {
    select_cases::every_kind(on_cpu(0));
}
TEST(Select, EveryKindOneThread) {
    select_cases::every_kind(on_cpu(1));
}
TEST(Select, EveryK) {
    select_cases::every_k(on_cpu(2));
}

// Every selector of the list whose range has the case's k.
void by_every_selector(const Case& c, int threads) {
    for (const kith::cpu::Selector& selector : kith::cpu::selectors) {
        if (c.k < selector.min_k || (selector.max_k && c.k > selector.max_k)) continue;
        SCOPED_TRACE(selector.name);
        select_cases::check(c, kith::select(c.matrix(), c.k, c.options(on_cpu(threads, selector.name))));
        if (testing::Test::HasFatalFailure()) return;
    }
}

TEST(Select, EverySelector) {
    int turn = 0;
    const auto check = [&](const Case& c) { by_every_selector(c, turn++ % 3 + 1); };
    select_cases::for_every_case(check);
    select_cases::for_every_k(check);
}

// More threads than rows: rows are cut into parts.
TEST(Select, EverySelectorLarge) {
    select_cases::for_every_large_case([](const Case& c) { by_every_selector(c, 4); });
}

TEST(Select, EveryInstructionSet) {
    select_cases::for_every_case([](const Case& c) {
        for (int i = 0; i < kith::cpu::isa_count; ++i) {
            const auto isa = static_cast<kith::cpu::Isa>(i);
            if (!kith::cpu::supported(isa)) continue;
            SCOPED_TRACE(kith::cpu::name(isa));
            const kith::Options options = c.options(on_cpu(1, "vector", kith::cpu::name(isa)));
            select_cases::check(c, kith::select(c.matrix(), c.k, options));
            if (testing::Test::HasFatalFailure()) return;
        }
    });
}

// A sample of one value in 64, evenly spaced, sees only the best values, or only the worst.
TEST(Select, MisleadingSample) {
    constexpr std::int64_t cols = 1 << 16;
    for (const double odd : {-1.0, 1.0}) {
        std::vector<double> all = select_cases::values("gaussian", 1, cols, 5);
        for (std::int64_t i = 0; i < cols; ++i) all[i] = std::abs(all[i]) + (i % 64 == 0 ? 100 * odd : 0);
        for (const std::int64_t k : {3, 1000, 2000, 4096}) {
            const auto matrix = arrays::make(all, 1, cols, kith::ElementType::f64);
            const kith::Options options = on_cpu(1, "vector");
            select_cases::check(all, cols, kith::select(matrix.view, k, options), true, options, std::to_string(k));
        }
    }
}

TEST(Select, AnyOrderHint) {
    for (const char* order : {"ascending", "descending"}) {
        kith::Options options = on_cpu(2);
        options.order = order;
        select_cases::every_kind(options);
    }
}

TEST(Select, IntoIdsAlone) {
    const double row[] = {3, 1, 2, 1};
    std::int64_t ids[2] = {-7, -7};
    kith::select_into(kith::view(row, 1, 4), 2, on_cpu(1), {ids, nullptr, kith::host_memory});
    EXPECT_EQ(1, ids[0]);
    EXPECT_EQ(3, ids[1]);
}

std::string refusal(const kith::MatrixView& m, std::int64_t k, const kith::Options& options) {
    try {
        kith::select(m, k, options);
    } catch (const kith::Error& error) {
        EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
        return error.what();
    }
    return "accepted";
}

TEST(Select, RefusesWhatItCannotOrder) {
    const float row[] = {3, 1, 2};
    const std::int8_t bytes[] = {1, 2};
    const kith::Options options = on_cpu(1);
    EXPECT_NE(std::string::npos,
              refusal(kith::view(row, 1, 3), 4, options).find("k: 4; expected at most the 3 columns"));
    EXPECT_NE(std::string::npos, refusal(kith::view(row, 1, 3), -1, options).find("k: -1; expected at least 0"));
    EXPECT_NE(std::string::npos, refusal(kith::view(bytes, 1, 2), 1, options).find("i8"));
}

TEST(Select, RefusesSelectors) {
    const std::vector<float> row(1000, 1.0f);
    const kith::MatrixView m = kith::view(row.data(), 1, 1000);
    const std::string unknown = refusal(m, 1, on_cpu(1, "sieve"));
    EXPECT_NE(std::string::npos, unknown.find("'sieve' is unknown")) << unknown;
    for (const kith::cpu::Selector& s : kith::cpu::selectors) {
        EXPECT_NE(std::string::npos, unknown.find(s.name)) << unknown;
        if (!s.max_k) continue;
        const std::string range = refusal(m, s.max_k + 1, on_cpu(1, s.name));
        EXPECT_NE(std::string::npos, range.find(std::to_string(s.min_k) + " to " + std::to_string(s.max_k))) << range;
    }
    const std::string elsewhere = refusal(m, 1, on_cpu(1, kith::gpu::selectors[0].name));
    EXPECT_NE(std::string::npos, elsewhere.find("runs on a GPU only")) << elsewhere;
    kith::Options options = on_cpu(1);
    options.order = "sideways";
    EXPECT_NE(std::string::npos, refusal(m, 1, options).find("order: 'sideways'"));
}

}  // namespace
