// The C interface, continued: many small searches, matching, estimators.
#include <algorithm>
#include <optional>
#include <vector>

#include "api/c_convert.h"
#include "kith/batches.h"
#include "kith/estimators.h"
#include "kith/match.h"

using namespace kith::c;

namespace {

// `work(options)` into *estimate.
template <class Work>
int estimated(const kith_options* options, kith_estimate* estimate, const Work& work) {
    return guarded([&] {
        require(estimate, "estimate");
        const Converted c(options);
        const kith::Estimate e = work(c.options);
        *estimate = {e.value, e.error, e.samples, e.left_out};
    });
}

// One of the `count` values of an enum of c.h, which are those of Form.
template <class Form>
Form form_of(int32_t form, int32_t count, const char* names) {
    if (form < 0 || form >= count) kith::refuse("form: {}; expected one of enum {}", form, names);
    return static_cast<Form>(form);
}

}  // namespace

extern "C" {

int kith_search_batches(const kith_matrix* points, const kith_matrix* queries, const kith_batch* batches, int64_t count,
                        int64_t k, const kith_options* options, const kith_neighbors* out, kith_report* report) {
    return guarded([&] {
        check(report);
        if (count < 0) kith::refuse("count: {}; expected at least 0", count);
        if (count > 0) require(batches, "batches");
        std::vector<kith::Batch> all;
        all.reserve(static_cast<std::size_t>(count));
        for (const kith_batch* b = batches; b != batches + count; ++b)
            all.push_back({b->first_point, b->points, b->first_query, b->queries});
        const Converted c(options);
        fill(report, kith::search_batches_into(matrix(points, "points"), matrix(queries, "queries"), all, k, c.options,
                                               neighbors(out)));
    });
}

int kith_match(const kith_matrix* a, const kith_matrix* b, double ratio, int32_t mutual, const kith_options* options,
               int64_t* first, int64_t* second, double* distances, int64_t* count, kith_report* report) {
    return guarded([&] {
        check(report);
        require(first, "first");
        require(second, "second");
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

int kith_entropy(const kith_matrix* x, int64_t k, const kith_options* options, kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o) { return kith::entropy(matrix(x, "x"), k, o); });
}

int kith_kl_divergence(const kith_matrix* x, const kith_matrix* y, int64_t k, int32_t form, const kith_options* options,
                       kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o) {
        return kith::kl_divergence(matrix(x, "x"), matrix(y, "y"), k,
                                   form_of<kith::DivergenceForm>(form, 3, "kith_divergence_form"), o);
    });
}

int kith_mutual_information(const kith_matrix* x, const kith_matrix* y, int64_t k, int32_t form,
                            const kith_options* options, kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o) {
        return kith::mutual_information(matrix(x, "x"), matrix(y, "y"), k,
                                        form_of<kith::KraskovForm>(form, 2, "kith_kraskov_form"), o);
    });
}

int kith_conditional_mutual_information(const kith_matrix* x, const kith_matrix* y, const kith_matrix* z, int64_t k,
                                        const kith_options* options, kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o) {
        return kith::conditional_mutual_information(matrix(x, "x"), matrix(y, "y"), matrix(z, "z"), k, o);
    });
}

int kith_transfer_entropy(const kith_matrix* source, const kith_matrix* target, int64_t k, int64_t source_lags,
                          int64_t target_lags, const kith_options* options, kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o) {
        return kith::transfer_entropy(matrix(source, "source"), matrix(target, "target"), k, source_lags, target_lags,
                                      o);
    });
}

}  // extern "C"
