// Errors: each names the argument, its value and what was expected, and nothing is written.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "kith/batches.h"
#include "kith/distances.h"
#include "kith/functor.h"
#include "kith/kith.h"
#include "kith/plan.h"
#include "kith/schedule.h"
#include "kith/shards.h"
#include "metric_variants.h"
#include "refusal.h"

namespace {

using kith::ErrorCode;
using refusals::expect_words;
using refusals::refusal_of;

class Errors : public testing::Test {
protected:
    Errors() { options.device = "cpu"; }

    // The message of a search of `points` and `queries`, which must fail with `code`.
    std::string refusal(ErrorCode code = ErrorCode::invalid_argument) const {
        return refusal_of([this] { kith::search(points, queries, k, options); }, code);
    }

    std::vector<float> values = std::vector<float>(64, 0.5f);
    kith::MatrixView points = kith::view(values.data(), 8, 4);
    kith::MatrixView queries = kith::view(values.data(), 2, 4);
    std::int64_t k = 3;
    kith::Options options;
};

TEST_F(Errors, K) {
    k = 0;
    expect_words(refusal(), {"k", "0", "at least 1"});
    k = -5;
    expect_words(refusal(), {"k", "-5", "at least 1"});
    expect_words(refusal_of([&] { kith::graph(points, 0, options); }), {"k", "0", "at least 1"});
    expect_words(refusal_of([&] { kith::Index(points, options).search(queries, 0); }), {"k", "0", "at least 1"});
}

TEST_F(Errors, Dimensions) {
    queries = kith::view(values.data(), 2, 3);
    expect_words(refusal(), {"queries", "3", "expected 4"});
    expect_words(refusal_of([&] { kith::Index(points, options).search(queries, 1); }), {"queries", "3", "expected 4"});
}

// Without rows there are no pairs, which is an answer (test_empty.cpp); fewer there are not.
TEST_F(Errors, Empty) {
    points.rows = -1;
    expect_words(refusal(), {"points", "-1 rows", "at least 0"});
    expect_words(refusal_of([&] { kith::graph(points, 1, options); }), {"points", "-1 rows"});
    expect_words(refusal_of([&] { kith::Index index(points, options); }), {"points", "-1 rows"});
    points.rows = 8;
    queries.rows = -1;
    expect_words(refusal(), {"queries", "-1 rows", "at least 0"});
    queries.rows = 2;
    points.cols = queries.cols = 0;
    expect_words(refusal(), {"points", "0 columns", "at least 1"});
    points.cols = -4;
    expect_words(refusal(), {"points", "-4 columns", "at least 1"});
}

TEST_F(Errors, NullData) {
    points.data = nullptr;
    expect_words(refusal(), {"points", "null", "8 x 4"});
    points.data = values.data();
    queries.data = nullptr;
    expect_words(refusal(), {"queries", "null", "2 x 4"});
    expect_words(refusal_of([&] { kith::search_into(points, points, 1, options, {}); }), {"out.ids", "null"});
}

TEST_F(Errors, Stride) {
    points.stride = 3;
    expect_words(refusal(), {"points", "stride 3", "4 columns"});
    points.layout = kith::Layout::column_major;
    points.stride = 7;
    expect_words(refusal(), {"points", "stride 7", "8 rows"});
    points.stride = -8;
    expect_words(refusal(), {"points", "stride -8", "8 rows"});
}

TEST_F(Errors, Types) {
    points.type = kith::ElementType::i32;
    expect_words(refusal(), {"points", "i32", "f32", "u8"});
    points.type = static_cast<kith::ElementType>(99);
    expect_words(refusal(), {"points", "f32"});
}

TEST_F(Errors, Sizes) {
    points.rows = std::int64_t{1} << 62;
    expect_words(refusal(), {"points", "4611686018427387904", "4", "2^63 bytes"});
    ++points.rows;  // 64 bits hold 4 of its elements
    expect_words(refusal(), {"points", "4611686018427387905", "4", "2^63 bytes"});
    points.rows = 8;
    k = std::int64_t{1} << 62;
    expect_words(refusal(), {"k", "4611686018427387904"});
#ifndef KITH_SANITIZED  // whose operator new ends the program instead of throwing
    // A result that no machine holds, yet counts in 64 bits.
    k = std::int64_t{1} << 50;
    expect_words(refusal(ErrorCode::out_of_memory), {"k", "1125899906842624", "2 queries", "host memory"});
#endif
}

TEST_F(Errors, Names) {
    options.device = "tpu";
    expect_words(refusal(), {"device", "'tpu'", "auto", "cpu", "cuda", "cuda:N"});
    options.device = "cuda:x";
    expect_words(refusal(), {"device", "'cuda:x'", "cuda:N"});
    for (const char* list :
         {"cuda:", "cuda:0,", "cuda:,1", "cuda:0,,1", "cuda:0, 1", "cuda:0-1", "cuda:all,1", "cpu,cpu"}) {
        options.device = list;
        expect_words(refusal(), {"device", std::string("'") + list + "'", "cuda:N,M,...", "cuda:all"});
    }
    options.device = "cuda:998,999";
    expect_words(refusal(ErrorCode::device), {"device", "'cuda:998,999'"});
    options.device = "cuda:999";
    expect_words(refusal(ErrorCode::device), {"device", "'cuda:999'"});
    options.device = "cpu";
    options.path = "scenic";
    expect_words(refusal(), {"path", "'scenic'", "exact", "gemm-f32"});
    options.path = "";
    options.isa = "mmx";
    expect_words(refusal(), {"isa", "'mmx'", "this machine has", "baseline"});
    options.isa = "";
    options.selector = "oracle";
    expect_words(refusal(), {"selector", "'oracle'"});
    std::vector<std::string> metrics = metric_names();
    metrics.insert(metrics.end(), {"metric", "'cubic'", "l2", "manhattan"});
    expect_words(refusal_of([] { kith::metric_named("cubic"); }), metrics);
    expect_words(refusal_of([] { kith::metric_named(""); }), {"metric", "''", "euclidean"});
}

TEST_F(Errors, NumbersOfOptions) {
    options.memory = -1;
    expect_words(refusal(), {"memory", "-1"});
    options.memory = 1;
    expect_words(refusal(ErrorCode::out_of_memory), {"memory", "1 bytes", "needs"});
    options.memory = 0;
    options.threads = -2;
    expect_words(refusal(), {"threads", "-2"});
}

TEST_F(Errors, MinkowskiExponent) {
    options.metric = kith::MetricId::minkowski;
    for (double p : {0.5, 0.0, -1.0, std::nan("")}) {
        options.metric.p = p;
        expect_words(refusal(), {"p", p == 0.5 ? "0.5" : "", "at least 1"});
    }
}

TEST_F(Errors, NegativeCoordinate) {
    int tried = 0;
    for (const std::string& metric : metric_names()) {
        if (!oracle::definition(metric).non_negative) continue;
        ++tried;
        options.metric = kith::metric_named(metric);
        values.assign(64, 0.5f);
        values[5 * 4 + 2] = -0.25f;
        values[6 * 4 + 1] = -0.75f;
        expect_words(refusal(), {"points", "row 5", "column 2", "-0.25", metric, "at least 0"});
        expect_words(refusal_of([&] { kith::graph(points, 1, options); }), {"points", "row 5", "column 2"});
        std::vector<float> good(32, 0.5f), bad(8, 0.5f);
        bad[7] = -1;
        points = kith::view(good.data(), 8, 4);
        queries = kith::view_column_major(bad.data(), 2, 4);
        expect_words(refusal(), {"queries", "row 1", "column 3", "-1", metric});
        const kith::Index index(points, options);
        expect_words(refusal_of([&] { index.search(queries, 1); }), {"queries", "row 1", "column 3"});
        points = kith::view(values.data(), 8, 4);
        queries = kith::view(values.data(), 2, 4);
        // Zero of either sign is none.
        values.assign(64, -0.0f);
        EXPECT_NO_THROW(kith::search(points, queries, k, options)) << metric;
    }
    EXPECT_GE(tried, 3);
}

TEST_F(Errors, InverseCovariance) {
    options.metric = kith::MetricId::mahalanobis;
    std::vector<double> matrix = positive_definite(4, 1);
    const auto given = [&](std::int64_t rows, std::int64_t cols) {
        options.metric.inverse_covariance = kith::view(matrix.data(), rows, cols);
        return refusal();
    };
    expect_words(given(2, 2), {"inverse_covariance", "2 x 2", "expected 4 x 4"});
    expect_words(given(4, 3), {"inverse_covariance", "4 x 3", "expected 4 x 4"});
    matrix[1 * 4 + 3] += 0.5;
    expect_words(given(4, 4), {"inverse_covariance", "row 3, column 1", "row 1, column 3", "symmetric"});
    matrix = positive_definite(4, 1);
    matrix[2 * 4 + 2] = -1;
    expect_words(given(4, 4), {"inverse_covariance", "positive definite"});
    matrix[2 * 4 + 2] = std::nan("");
    expect_words(given(4, 4), {"inverse_covariance", "row 2, column 2", "nan", "finite"});
    options.metric.inverse_covariance = kith::view(values.data(), 4, 4);
    expect_words(refusal(), {"inverse_covariance", "f32", "expected f64"});
    // Nothing to estimate it from: the points are all the same.
    options.metric.inverse_covariance = {};
    expect_words(refusal(), {"points", "singular", "inverse_covariance"});
}

TEST_F(Errors, MetricParts) {
    options.metric = kith::MetricId::hamming;
    options.metric.packed_bits = true;
    expect_words(refusal(), {"packed_bits", "f32", "expected u8"});
    options.metric = kith::MetricId::cosine;
    options.metric.packed_bits = true;
    expect_words(refusal(), {"packed_bits", "hamming", "cosine"});
    options.metric = kith::MetricId::functor;
    expect_words(refusal(), {"functor", "null", "functor_metric"});
    options.metric.id = static_cast<kith::MetricId>(200);
    expect_words(refusal(), {"metric", "200"});
}

TEST_F(Errors, PackedQueriesAreBytesToo) {
    const std::vector<std::uint8_t> bytes(32, 1);
    points = kith::view(bytes.data(), 8, 4);
    options.metric = kith::MetricId::hamming;
    options.metric.packed_bits = true;
    expect_words(refusal(), {"queries", "f32", "u8"});
}

TEST_F(Errors, CancelledByTheCallback) {
    // Seconds of work on any machine, of which the first report ends all.
    const std::vector<float> many(20000 * 256, 0.25f);
    const std::int64_t rows = 20000;
    points = queries = kith::view(many.data(), rows, 256);
    options.path = "exact";
    options.threads = 1;
    int calls = 0;
    options.progress = [&](const kith::Progress& progress) {
        ++calls;
        EXPECT_EQ(double(rows) * double(rows), progress.total);
        EXPECT_LE(progress.done, progress.total);
        return false;
    };
    std::vector<std::int64_t> ids(rows, -77);
    std::vector<float> distances(rows, -77.0f);
    expect_words(refusal_of(
                     [&] {
                         kith::search_into(points, queries, 1, options, {ids.data(), distances.data()});
                     },
                     ErrorCode::cancelled),
                 {"cancelled"});
    EXPECT_EQ(1, calls);
    // A row is right, all points being the same, or as it was; the last one's turn never came.
    for (std::size_t i = 0; i < ids.size(); ++i) {
        const bool untouched = ids[i] == -77 && distances[i] == -77.0f;
        ASSERT_TRUE(untouched || (ids[i] == 0 && distances[i] == 0.0f)) << i;
    }
    EXPECT_EQ(-77, ids.back());
}

// What describes another metric is refused, not left unread.
TEST(MetricErrors, ParametersOfAnotherMetric) {
    const float points[] = {0, 1, 2, 3, 4, 6};
    const double ones[] = {1, 1}, unit[] = {1, 0, 0, 1};
    const kith::MatrixView view = kith::view(points, 3, 2);
    const auto says = [&](const char* words, const kith::Metric& metric) {
        kith::Options options;
        options.device = "cpu";
        options.metric = metric;
        for (const auto& call : std::vector<std::function<void()>>{
                 [&] { kith::search(view, view, 1, options); }, [&] { kith::graph(view, 1, options); },
                 [&] { const kith::Index index(view, options); }, [&] { kith::radius(view, view, 1.0, options); },
                 [&] { kith::distances(view, view, options); },
                 [&] {
                     kith::search_batches(view, view, {{0, 3, 0, 3}}, 1, options);
                 },
                 [&] { kith::search_shard(view, 0, view, 1, options); },
                 [&] {
                     kith::plan({3, 3, 2, 1}, options);
                 },
                 [&] {
                     kith::plan_on("h100", {3, 3, 2, 1}, options);
                 },
                 [&] { kith::graph_schedules({.n = 3, .q = 3, .d = 2, .k = 1, .graph = true}, options, "h100"); }}) {
            try {
                call();
                ADD_FAILURE() << words;
            } catch (const kith::Error& error) {
                EXPECT_EQ(kith::ErrorCode::invalid_argument, error.code());
                EXPECT_NE(std::string::npos, std::string(error.what()).find(words)) << error.what();
            }
        }
    };
    kith::Metric p = kith::MetricId::euclidean, matrix = p, variances = p, start = p;
    p.p = 3;
    says("p: serves minkowski, not euclidean", p);
    matrix.inverse_covariance = kith::view(unit, 2, 2);
    says("inverse_covariance: serves mahalanobis, not euclidean", matrix);
    variances.variances = kith::view(ones, 2, 1);
    says("variances: serves seuclidean, not euclidean", variances);
    start.start = 1;
    says("start: serves formula, not euclidean", start);
    kith::Metric bits = start, floats = kith::MetricId::hamming, none = start;
    bits.packed_bits = floats.packed_bits = true;
    says("packed_bits: serves hamming, jaccard, dice, not euclidean", bits);
    says("packed_bits: elements are f32; expected u8", floats);
    none.id = static_cast<kith::MetricId>(200);
    says("metric: id 200 is unknown", none);
}

}  // namespace
