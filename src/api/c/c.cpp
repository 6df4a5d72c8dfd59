// The flat C interface: each function converts its plain structs, calls its C++ twin and turns
// exceptions into codes.
#include "kith/c.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "api/c/c_convert.h"
#include "kith/algorithms.h"
#include "kith/batches.h"
#include "kith/distances.h"
#include "kith/kith.h"
#include "kith/match.h"
#include "kith/verify.h"

using namespace kith::c;

namespace {

thread_local char last_error[2048] = "";

void copy_text(const std::string& from, char* to, size_t capacity, size_t* length) {
    if (capacity) require(to, "text");
    if (length) *length = from.size();
    if (!capacity) return;
    const size_t count = std::min(from.size(), capacity - 1);
    std::memcpy(to, from.data(), count);
    to[count] = '\0';
}

}  // namespace

namespace kith::c {

int fail(int code, const char* message) noexcept {
    std::snprintf(last_error, sizeof(last_error), "%s", message);
    return code;
}

}  // namespace kith::c

// The options live as long as the index: its metric may point to the functor.
struct kith_index {
    Converted converted;
    kith::Index index;
    kith_index(const kith_matrix* points, const kith_options* options)
        : converted(options), index(matrix(points, "points"), converted.options) {}
};

extern "C" {

const char* kith_last_error(void) {
    return last_error;
}

const char* kith_version(void) {
    return KITH_VERSION;
}

kith_matrix kith_view(const void* data, int64_t rows, int64_t cols, int32_t type) {
    return {data, rows, cols, cols, type, KITH_ROW_MAJOR, KITH_HOST};
}

const char* kith_type_name(int32_t type) {
    return type < KITH_F32 || type > KITH_I64 ? "unknown"
                                              : kith::name(static_cast<kith::ElementType>(type));
}

size_t kith_type_size(int32_t type) {
    return type < KITH_F32 || type > KITH_I64 ? 0
                                              : kith::size_of(static_cast<kith::ElementType>(type));
}

int kith_metric_named(const char* name, int32_t* metric) {
    return guarded([&] {
        require(name, "name");
        require(metric, "metric");
        *metric = static_cast<int32_t>(kith::metric_named(name).id);
    });
}

const char* kith_metric_name(int32_t metric) {
    try {
        return kith::name(metric_id(metric));
    } catch (...) {
        return nullptr;
    }
}

void kith_options_init(kith_options* options, size_t struct_size) {
    if (!options) return;
    kith_options o{};
    o.struct_size = struct_size;
    o.metric = KITH_METRIC_default;
    o.p = 2.0;
    o.sorted = 1;
    o.device = "auto";
    o.bootstrap_parts = 2;
    // Zeroes fields that this version does not know.
    std::memset(static_cast<void*>(options), 0, struct_size);
    std::memcpy(options, &o, std::min(struct_size, sizeof(o)));
}

int kith_search(const kith_matrix* points, const kith_matrix* queries, int64_t k,
                const kith_options* options, const kith_neighbors* out, kith_report* report) {
    return guarded([&] {
        check(report);
        const Converted c(options);
        fill(report, kith::search_into(matrix(points, "points"), matrix(queries, "queries"), k,
                                       c.options, neighbors(out)));
    });
}

int kith_graph(const kith_matrix* points, int64_t k, const kith_options* options,
               const kith_neighbors* out, kith_report* report) {
    return guarded([&] {
        check(report);
        const Converted c(options);
        fill(report, kith::graph_into(matrix(points, "points"), k, c.options, neighbors(out)));
    });
}

int kith_select(const kith_matrix* distances, int64_t k, const kith_options* options,
                const kith_neighbors* out, kith_report* report) {
    return guarded([&] {
        check(report);
        const Converted c(options);
        fill(report,
             kith::select_into(matrix(distances, "distances"), k, c.options, neighbors(out)));
    });
}

int kith_distances(const kith_matrix* points, const kith_matrix* queries,
                   const kith_options* options, void* out, int64_t stride, int32_t device,
                   kith_report* report) {
    return guarded([&] {
        check(report);
        const Converted c(options);
        fill(report, kith::distances_into(matrix(points, "points"), matrix(queries, "queries"),
                                          c.options, {out, stride, device}));
    });
}

int kith_radius(const kith_matrix* points, const kith_matrix* queries, double r,
                const kith_matrix* radii, int32_t open, const kith_options* options,
                kith_take_radius_rows take, void* context, kith_report* report) {
    return guarded([&] {
        check(report);
        if (!take) kith::refuse("take: null; expected a function");
        const Converted c(options);
        const auto hand_on = [&](const kith::RadiusRows& rows) {
            const void* distances = rows.distances64;
            const kith_radius_rows given{rows.first, rows.count, rows.offsets, rows.ids,
                                         distances ? distances : rows.distances};
            if (!take(&given, context))
                throw kith::Error(kith::ErrorCode::cancelled, "cancelled by take()");
        };
        const kith::Radius radius = radius_of(r, radii, open);
        fill(report,
             queries
                 ? kith::radius_blocks(matrix(points, "points"), matrix(queries, "queries"), radius,
                                       c.options, hand_on)
                 : kith::radius_graph_blocks(matrix(points, "points"), radius, c.options, hand_on));
    });
}

int kith_radius_counts(const kith_matrix* points, const kith_matrix* queries, double r,
                       const kith_matrix* radii, int32_t open, const kith_options* options,
                       int64_t* counts, kith_report* report) {
    return guarded([&] {
        check(report);
        const kith_matrix* const asked = queries ? queries : points;
        if (asked && asked->rows > 0) require(counts, "counts");
        const Converted c(options);
        const kith::Radius radius = radius_of(r, radii, open);
        const kith::RadiusCounts found =
            queries ? kith::radius_counts(matrix(points, "points"), matrix(queries, "queries"),
                                          radius, c.options)
                    : kith::radius_graph_counts(matrix(points, "points"), radius, c.options);
        std::copy(found.counts.begin(), found.counts.end(), counts);
        fill(report, found.report);
    });
}

int kith_search_batches(const kith_matrix* points, const kith_matrix* queries,
                        const kith_batch* batches, int64_t count, int64_t k,
                        const kith_options* options, const kith_neighbors* out,
                        kith_report* report) {
    return guarded([&] {
        check(report);
        if (count < 0) kith::refuse("count: {}; expected at least 0", count);
        if (count > 0) require(batches, "batches");
        if (count > INT64_MAX / static_cast<std::int64_t>(sizeof(kith_batch)))
            kith::refuse("count: {}; the batches pass 2^63 bytes", count);
        std::vector<kith::Batch> all;
        all.reserve(static_cast<std::size_t>(count));
        for (const kith_batch* b = batches; b != batches + count; ++b)
            all.push_back({b->first_point, b->points, b->first_query, b->queries});
        const Converted c(options);
        fill(report, kith::search_batches_into(matrix(points, "points"), matrix(queries, "queries"),
                                               all, k, c.options, neighbors(out)));
    });
}

int kith_verify(const kith_matrix* points, const kith_matrix* queries, const int64_t* ids,
                const void* distances, int64_t k, const kith_options* options,
                kith_verification* verification) {
    return guarded([&] {
        require(verification, "verification");
        if (verification->struct_size < sizeof(kith_verification::struct_size))
            kith::refuse("verification.struct_size: {}; expected sizeof(kith_verification)",
                         verification->struct_size);
        const Converted c(options);
        const kith::MatrixView x = matrix(points, "points"),
                               y = queries ? matrix(queries, "queries") : x;
        if (y.rows > 0) require(ids, "ids");
        kith::FoundNeighbors found(kith::view(ids, y.rows, k));
        if (distances)
            found.distances = c.options.f64
                                  ? kith::view(static_cast<const double*>(distances), y.rows, k)
                                  : kith::view(static_cast<const float*>(distances), y.rows, k);
        kith::VerifyOptions how;
        how.search = c.options;
        how.described = 1;
        const kith::Verification v =
            queries ? kith::verify(x, y, found, how) : kith::verify_graph(x, found, how);
        kith_verification all{};
        all.struct_size = verification->struct_size;
        all.verdict = v.wrong > 0  ? KITH_NOT_EXACT
                      : v.tied > 0 ? KITH_EXACT_UP_TO_TIES
                                   : KITH_EXACT;
        all.include_self = v.include_self;
        all.exact = v.exact;
        all.tied = v.tied;
        all.wrong = v.wrong;
        all.first_wrong = v.wrong > 0 ? v.wrong_rows.front() : -1;
        all.recall = v.recall();
        all.compared = v.compared == kith::DistancesCompared::none  ? KITH_NOT_COMPARED
                       : v.compared == kith::DistancesCompared::f32 ? KITH_COMPARED_F32
                                                                    : KITH_COMPARED_F64;
        all.distances = v.distances;
        all.different = v.different;
        all.largest_ulp = v.largest_ulp;
        if (v.wrong > 0)
            std::snprintf(all.why, sizeof(all.why), "%s", v.first_wrong.front().why.c_str());
        std::memcpy(verification, &all, std::min(all.struct_size, sizeof(all)));
    });
}

int kith_match(const kith_matrix* a, const kith_matrix* b, double ratio, int32_t mutual,
               const kith_options* options, int64_t* first, int64_t* second, double* distances,
               int64_t* count, kith_report* report) {
    return guarded([&] {
        check(report);
        if (a && a->rows > 0) {
            require(first, "first");
            require(second, "second");
        }
        require(count, "count");
        const Converted c(options);
        kith::MatchOptions asked{{}, mutual != 0, c.options};
        if (ratio != 0) asked.ratio = ratio;
        const kith::Matches found = kith::match(matrix(a, "a"), matrix(b, "b"), asked);
        std::copy(found.first.begin(), found.first.end(), first);
        std::copy(found.second.begin(), found.second.end(), second);
        if (distances) std::copy(found.distances.begin(), found.distances.end(), distances);
        *count = static_cast<int64_t>(found.first.size());
        fill(report, found.report);
    });
}

int kith_inverse_covariance(const kith_matrix* points, double* out) {
    return guarded([&] {
        require(out, "out");
        const std::vector<double> inverse = kith::inverse_covariance(matrix(points, "points"));
        std::copy(inverse.begin(), inverse.end(), out);
    });
}

int kith_variances(const kith_matrix* points, double* out) {
    return guarded([&] {
        require(out, "out");
        const std::vector<double> variances = kith::variances(matrix(points, "points"));
        std::copy(variances.begin(), variances.end(), out);
    });
}

int kith_index_create(const kith_matrix* points, const kith_options* options, kith_index** index) {
    return guarded([&] {
        require(index, "index");
        *index = nullptr;
        *index = new kith_index(points, options);
    });
}

void kith_index_free(kith_index* index) {
    delete index;
}

int64_t kith_index_size(const kith_index* index) {
    return index ? index->index.size() : 0;
}

int64_t kith_index_dimensions(const kith_index* index) {
    return index ? index->index.dimensions() : 0;
}

int kith_index_search(const kith_index* index, const kith_matrix* queries, int64_t k,
                      const kith_options* options, const kith_neighbors* out, kith_report* report) {
    return guarded([&] {
        check(report);
        require(index, "index");
        const Converted c(options);
        fill(report,
             index->index.search_into(matrix(queries, "queries"), k, c.options, neighbors(out)));
    });
}

int kith_index_graph(const kith_index* index, int64_t k, const kith_options* options,
                     const kith_neighbors* out, kith_report* report) {
    return guarded([&] {
        check(report);
        require(index, "index");
        const Converted c(options);
        fill(report, index->index.graph_into(k, c.options, neighbors(out)));
    });
}

int kith_plan(const kith_shape* shape, const kith_options* options, char* text, size_t capacity,
              size_t* length) {
    return guarded([&] {
        require(shape, "shape");
        const kith::ElementType type = element_type(shape->type, "shape.type");
        const Converted c(options);
        const kith::Shape s{shape->n, shape->q, shape->d, shape->k, type, shape->graph != 0};
        copy_text(kith::explain(kith::plan(s, c.options)), text, capacity, length);
    });
}

int kith_plan_select(int64_t rows, int64_t cols, int64_t k, int32_t type,
                     const kith_options* options, char* text, size_t capacity, size_t* length) {
    return guarded([&] {
        const Converted c(options);
        const kith::Plan plan =
            kith::plan_select(rows, cols, k, element_type(type, "type"), c.options);
        copy_text(kith::explain(plan), text, capacity, length);
    });
}

int kith_build_info(char* text, size_t capacity, size_t* length) {
    return guarded([&] { copy_text(kith::build_info(), text, capacity, length); });
}

int kith_paths(char* text, size_t capacity, size_t* length) {
    return guarded([&] {
        std::string lines;
        for (const kith::PathInfo& path : kith::paths())
            lines += fmt::format("{}{}\t{}{}{}\t{}\n", path.name, path.takes_selector ? "+" : "",
                                 path.on_cpu ? "cpu" : "", path.on_cpu && path.on_gpu ? "," : "",
                                 path.on_gpu ? "gpu" : "", path.what);
        copy_text(lines, text, capacity, length);
    });
}

int kith_selectors(char* text, size_t capacity, size_t* length) {
    return guarded([&] {
        std::string lines;
        for (const kith::SelectorInfo& s : kith::selectors())
            lines += fmt::format("{}\t{}\t{}\t{}\t{}\n", s.name, s.on_gpu ? "gpu" : "cpu", s.min_k,
                                 s.max_k, s.what);
        copy_text(lines, text, capacity, length);
    });
}

}  // extern "C"
