/* The C interface from C99, continued: many small searches, matching, estimators. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kith/c.h"

static int failures = 0;

#define CHECK(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            printf("%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, kith_last_error()); \
            ++failures;                                                                               \
        }                                                                                             \
    } while (0)

static int names(const char* part) {
    return strstr(kith_last_error(), part) != NULL;
}

static void test_batches(void) {
    const float points[] = {0, 1, 5, 7, 8}, queries[] = {0.4f, 6.9f, 5.2f};
    const kith_matrix x = kith_view(points, 5, 1, KITH_F32), y = kith_view(queries, 3, 1, KITH_F32);
    const kith_batch batches[] = {{0, 2, 0, 1}, {2, 3, 1, 1}, {2, 1, 2, 1}};
    int64_t ids[6];
    float distances[6];
    const kith_neighbors out = {ids, distances, KITH_HOST};
    kith_options options;
    kith_report report;
    memset(&report, 0, sizeof(report));
    report.struct_size = sizeof(report);
    kith_options_init(&options, sizeof(options));
    options.metric = KITH_METRIC_cityblock;
    CHECK(kith_search_batches(&x, &y, batches, 3, 2, &options, &out, &report) == KITH_OK);
    CHECK(ids[0] == 0 && ids[1] == 1 && ids[2] == 1 && ids[3] == 2 && ids[4] == 0 && ids[5] == -1);
    CHECK(distances[0] == 0.4f && isinf(distances[5]) && report.queries == 3);
    CHECK(kith_search_batches(&x, &y, NULL, 0, 2, &options, &out, NULL) == KITH_OK && ids[0] == -1 && ids[4] == -1);
    CHECK(kith_search_batches(&x, &y, NULL, 1, 2, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("batches"));
    CHECK(kith_search_batches(&x, &y, batches, -1, 2, &options, &out, NULL) == KITH_INVALID_ARGUMENT &&
          names("count: -1"));
    CHECK(kith_search_batches(&x, &y, batches, 3, 0, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("k: 0"));
}

static void test_match(void) {
    const float a[] = {0, 0, 5, 5, 9, 0}, b[] = {5, 6, 9, 9, 0, 1, 5, 8};
    const kith_matrix x = kith_view(a, 3, 2, KITH_F32), y = kith_view(b, 4, 2, KITH_F32);
    int64_t first[3], second[3], count = -1;
    double distances[3];
    kith_report report;
    memset(&report, 0, sizeof(report));
    report.struct_size = sizeof(report);
    CHECK(kith_match(&x, &y, 0, 0, NULL, first, second, distances, &count, &report) == KITH_OK && count == 3);
    CHECK(second[0] == 2 && second[1] == 0 && second[2] == 0 && distances[0] == 1 && distances[1] == 1);
    CHECK(distances[2] == sqrt(52.0) && report.queries == 3);
    CHECK(kith_match(&x, &y, 0, 1, NULL, first, second, NULL, &count, NULL) == KITH_OK && count == 2);
    CHECK(first[0] == 0 && second[0] == 2 && first[1] == 1 && second[1] == 0);
    CHECK(kith_match(&x, &y, 0.5, 0, NULL, first, second, distances, &count, NULL) == KITH_OK && count == 2);
    CHECK(first[0] == 0 && first[1] == 1);
    CHECK(kith_match(&x, &y, 1.5, 0, NULL, first, second, NULL, &count, NULL) == KITH_INVALID_ARGUMENT &&
          names("ratio: 1.5"));
    CHECK(kith_match(&x, &y, -1, 0, NULL, first, second, NULL, &count, NULL) == KITH_INVALID_ARGUMENT &&
          names("ratio: -1"));
    CHECK(kith_match(&x, NULL, 0, 0, NULL, first, second, NULL, &count, NULL) == KITH_INVALID_ARGUMENT && names("b"));
    CHECK(kith_match(&x, &y, 0, 0, NULL, NULL, second, NULL, &count, NULL) == KITH_INVALID_ARGUMENT && names("first"));
}

enum { n = 2000 };

/* Uniform in (0, 1), no two equal. */
static double uniform(unsigned* state) {
    *state = *state * 1664525u + 1013904223u;
    return ((double)*state + 0.5) / 4294967296.0;
}

static double normal(unsigned* state) {
    const double radius = sqrt(-2 * log(uniform(state)));
    return radius * cos(6.283185307179586 * uniform(state));
}

/* Against what the distributions have. */
static void test_estimators(void) {
    static double x[n], y[n], z[n], next[n];
    const kith_matrix xs = kith_view(x, n, 1, KITH_F64), ys = kith_view(y, n, 1, KITH_F64);
    const kith_matrix zs = kith_view(z, n, 1, KITH_F64), nexts = kith_view(next, n, 1, KITH_F64);
    const double correlated = 0.5 * log(2.0); /* of x and x + noise, both of variance 1 */
    kith_estimate e, again;
    kith_options options;
    unsigned state = 1;
    int i;
    for (i = 0; i < n; ++i) {
        x[i] = normal(&state);
        y[i] = x[i] + normal(&state);
        z[i] = normal(&state);
        next[i] = (i ? x[i - 1] : 0) + normal(&state);
    }
    kith_options_init(&options, sizeof(options));
    options.threads = 1;
    CHECK(kith_entropy(&xs, 3, NULL, &e) == KITH_OK && e.samples == n && e.left_out == 0);
    CHECK(fabs(e.value - 1.418938533) < 0.1 && isnan(e.error));
    CHECK(kith_entropy(&xs, 3, &options, &again) == KITH_OK && again.value == e.value && isnan(again.error));
    CHECK(kith_mutual_information(&xs, &ys, 3, KITH_KRASKOV_FIRST, NULL, &e) == KITH_OK);
    CHECK(fabs(e.value - correlated) < 0.1);
    CHECK(kith_mutual_information(&xs, &ys, 3, KITH_KRASKOV_SECOND, NULL, &again) == KITH_OK);
    CHECK(fabs(again.value - correlated) < 0.1 && again.value != e.value);
    CHECK(kith_conditional_mutual_information(&xs, &ys, &zs, 3, NULL, &e) == KITH_OK);
    CHECK(fabs(e.value - correlated) < 0.15);
    CHECK(kith_transfer_entropy(&xs, &nexts, 3, 1, 1, NULL, &e) == KITH_OK && fabs(e.value - correlated) < 0.15);
    CHECK(kith_transfer_entropy(&nexts, &xs, 3, 1, 1, NULL, &e) == KITH_OK && fabs(e.value) < 0.1);
    for (i = 0; i < n; ++i) z[i] += 1; /* a divergence of 1/2 */
    CHECK(kith_kl_divergence(&xs, &zs, 3, KITH_DIVERGENCE_NEAREST, NULL, &e) == KITH_OK);
    CHECK(fabs(e.value - 0.5) < 0.15);
    CHECK(kith_kl_divergence(&xs, &zs, 3, KITH_DIVERGENCE_COMMON_BALL, NULL, &again) == KITH_OK);
    CHECK(fabs(again.value - 0.5) < 0.15 && again.value != e.value);
    CHECK(kith_kl_divergence(&xs, &zs, 3, KITH_DIVERGENCE_COMMON_BALL_DISTANCES, NULL, &e) == KITH_OK);
    CHECK(fabs(e.value - 0.5) < 0.15);

    /* Terms deviate by about 1 and more, over the root of n. */
    CHECK(options.bootstrap_repeats == 0 && options.bootstrap_parts == 2 && options.bootstrap_seed == 0);
    options.bootstrap_repeats = 4;
    CHECK(kith_entropy(&xs, 3, &options, &e) == KITH_OK && kith_entropy(&xs, 3, NULL, &again) == KITH_OK);
    CHECK(e.value == again.value && e.error > 0.005 && e.error < 0.1);
    CHECK(kith_entropy(&xs, 3, &options, &again) == KITH_OK && again.error == e.error);
    options.bootstrap_seed = 1;
    CHECK(kith_entropy(&xs, 3, &options, &again) == KITH_OK && again.error != e.error);
    options.bootstrap_parts = 1;
    CHECK(kith_entropy(&xs, 3, &options, &e) == KITH_INVALID_ARGUMENT && names("bootstrap: 1 parts"));
    options.bootstrap_parts = 1000;
    CHECK(kith_entropy(&xs, 3, &options, &e) == KITH_INVALID_ARGUMENT && names("in 1000 parts"));
    options.bootstrap_parts = 2;
    options.bootstrap_stretch = -1;
    CHECK(kith_entropy(&xs, 3, &options, &e) == KITH_INVALID_ARGUMENT && names("stretches of -1"));
    options.bootstrap_stretch = 0;
    options.bootstrap_repeats = -1;
    CHECK(kith_entropy(&xs, 3, &options, &e) == KITH_INVALID_ARGUMENT && names("bootstrap: -1 repeats"));
    options.bootstrap_repeats = 0;

    CHECK(kith_entropy(&xs, 0, NULL, &e) == KITH_INVALID_ARGUMENT && names("k: 0"));
    CHECK(kith_entropy(&xs, 3, NULL, NULL) == KITH_INVALID_ARGUMENT && names("estimate"));
    CHECK(kith_kl_divergence(&xs, &ys, 3, 3, NULL, &e) == KITH_INVALID_ARGUMENT && names("form: 3"));
    CHECK(kith_mutual_information(&xs, &ys, 3, 2, NULL, &e) == KITH_INVALID_ARGUMENT && names("kith_kraskov_form"));
    CHECK(kith_mutual_information(&xs, NULL, 3, 0, NULL, &e) == KITH_INVALID_ARGUMENT && names("y"));
    CHECK(kith_transfer_entropy(&xs, &ys, 3, 0, 1, NULL, &e) == KITH_INVALID_ARGUMENT && names("source_lags"));
    options.metric = KITH_METRIC_cosine;
    CHECK(kith_entropy(&xs, 3, &options, &e) == KITH_INVALID_ARGUMENT && names("metric"));
}

int main(void) {
    test_batches();
    test_match();
    test_estimators();
    printf("%d failures\n", failures);
    return failures != 0;
}
