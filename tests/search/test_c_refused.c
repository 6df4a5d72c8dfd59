/* The C interface: what it once accepted, or failed at in other ways than by a message; empty inputs; kith_verify(). */
#include <stdio.h>
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

enum { n = 60, q = 9, d = 4, k = 5 };
static float points[n * d], queries[q * d];
static int64_t ids[n * k];
static float distances[n * k];

/* Whether the last message names that. */
static int names(const char* part) {
    return strstr(kith_last_error(), part) != NULL;
}

/* What once wrote before the array, was another answer without a word, or a defect's code. */
static void test_refused(void) {
    float big[400], values[] = {1, 2, 3, 4};
    int64_t wide[] = {1, 2}, counts[2], found[4], rows;
    int32_t narrow[] = {1, 2};
    const int64_t strides[] = {INT64_MAX, INT64_MAX / 4, INT64_MAX / 8};
    const kith_matrix x = kith_view(points, 20, d, KITH_F32), y = kith_view(queries, 3, d, KITH_F32);
    const kith_matrix m = kith_view(values, 2, 2, KITH_F32), none = {0, 3, 1, 1, KITH_F64, KITH_ROW_MAJOR, KITH_HOST};
    kith_matrix lengths = {wide, 2, 1, 1, KITH_I64, KITH_ROW_MAJOR, KITH_HOST}, empty = {0};
    kith_batch batch = {0, 20, 0, 3};
    kith_neighbors out = {found, 0, KITH_HOST};
    kith_options options;
    int i;
    kith_options_init(&options, sizeof(options));
    options.device = "cpu";
    for (i = 0; i < 400; ++i) big[i] = -7;
    for (i = 0; i < 3; ++i) {
        CHECK(kith_distances(&x, &y, &options, big + 200, strides[i], KITH_HOST, NULL) == KITH_INVALID_ARGUMENT);
        CHECK(names("out.stride") && names("2^63"));
    }
    for (i = 0; i < 400; ++i) CHECK(big[i] == -7);

    /* Lengths have types of their own. */
    options.lengths = &lengths;
    CHECK(kith_select(&m, 2, &options, &out, NULL) == KITH_OK);
    CHECK(found[0] == 0 && found[1] == -1 && found[2] == 0 && found[3] == 1);
    lengths.data = narrow;
    lengths.type = KITH_I32;
    memset(found, 0, sizeof(found));
    CHECK(kith_select(&m, 2, &options, &out, NULL) == KITH_OK && found[1] == -1 && found[3] == 1);
    CHECK(kith_type_size(KITH_I64) == 8 && strcmp(kith_type_name(KITH_I32), "i32") == 0 && kith_type_size(8) == 0);
    lengths.data = NULL;
    CHECK(kith_select(&m, 2, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("lengths: data is null"));
    options.lengths = NULL;
    CHECK(kith_select(&m, 0, &options, &out, NULL) == KITH_OK);

    CHECK(kith_search_batches(&x, &y, &batch, (int64_t)1 << 58, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT);
    CHECK(names("count") && names("2^63"));
    CHECK(kith_search_batches(&x, &y, &batch, (int64_t)1 << 57, 1, &options, &out, NULL) == KITH_OUT_OF_MEMORY);

    CHECK(kith_radius_counts(&x, &y, 99, &none, 0, &options, found, NULL) == KITH_INVALID_ARGUMENT);
    CHECK(names("r: data is null"));
    CHECK(kith_radius_counts(&x, &y, 99, &empty, 0, &options, found, NULL) == KITH_INVALID_ARGUMENT);
    options.metric = KITH_METRIC_seuclidean;
    options.variances = &none;
    CHECK(kith_search(&x, &y, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("variances: data is null"));
    options.variances = &empty;
    CHECK(kith_search(&x, &y, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("variances"));
    options.variances = NULL;
    options.metric = KITH_METRIC_mahalanobis;
    options.inverse_covariance = &none;
    CHECK(kith_search(&x, &y, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT &&
          names("inverse_covariance: data is"));
    options.inverse_covariance = &empty;
    CHECK(kith_search(&x, &y, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("inverse_covariance"));
    options.inverse_covariance = NULL;
    options.metric = KITH_METRIC_default;
    options.formula = "a + fabs(q - x)";
    CHECK(kith_search(&x, &y, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("formula: serves formula"));
    options.formula = NULL;

    /* Nothing to search in, nothing to search for. */
    empty = kith_view(NULL, 0, d, KITH_F32);
    CHECK(kith_search(&empty, &y, 1, &options, &out, NULL) == KITH_OK && found[0] == -1 && found[2] == -1);
    out.ids = NULL;
    CHECK(kith_search(&x, &empty, 1, &options, &out, NULL) == KITH_OK);
    CHECK(kith_search(&empty, &y, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("out.ids"));
    CHECK(kith_radius_counts(&empty, &x, 1, NULL, 0, &options, NULL, NULL) == KITH_INVALID_ARGUMENT);
    CHECK(kith_radius_counts(&x, &empty, 1, NULL, 0, &options, NULL, NULL) == KITH_OK);
    CHECK(kith_match(&empty, &x, 0, 0, &options, counts, counts, NULL, &rows, NULL) == KITH_OK && rows == 0);
    CHECK(kith_match(&empty, &x, 0, 0, &options, NULL, NULL, NULL, &rows, NULL) == KITH_OK &&
          rows == 0); /* no room is needed */
}

static void test_verify(void) {
    const kith_matrix x = kith_view(points, n, d, KITH_F32), y = kith_view(queries, q, d, KITH_F32);
    const kith_neighbors out = {ids, distances, KITH_HOST};
    kith_options options;
    kith_verification v;
    memset(&v, 0, sizeof(v));
    v.struct_size = sizeof(v);
    kith_options_init(&options, sizeof(options));
    options.device = "cpu";
    CHECK(kith_search(&x, &y, k, &options, &out, NULL) == KITH_OK);
    CHECK(kith_verify(&x, &y, ids, distances, k, &options, &v) == KITH_OK);
    CHECK(v.verdict == KITH_EXACT && v.exact == q && v.wrong == 0 && v.first_wrong == -1 && v.recall == 1);
    CHECK(v.compared == KITH_COMPARED_F32 && v.distances == q * k && v.different == 0 && v.why[0] == 0);
    distances[3 * k + 1] += 1;
    CHECK(kith_verify(&x, &y, ids, distances, k, &options, &v) == KITH_OK && v.verdict == KITH_NOT_EXACT);
    CHECK(v.first_wrong == 3 && v.wrong == 1 && v.different == 1 && strstr(v.why, "place 2"));
    CHECK(kith_verify(&x, &y, ids, NULL, k, &options, &v) == KITH_OK && v.verdict == KITH_EXACT);
    CHECK(v.compared == KITH_NOT_COMPARED);
    options.include_self = 1;
    CHECK(kith_graph(&x, k, &options, &out, NULL) == KITH_OK);
    CHECK(kith_verify(&x, NULL, ids, distances, k, &options, &v) == KITH_OK);
    CHECK(v.verdict == KITH_EXACT && v.include_self == 1 && v.exact == n);
    v.struct_size = 1;
    CHECK(kith_verify(&x, &y, ids, NULL, k, &options, &v) == KITH_INVALID_ARGUMENT && names("struct_size"));
    CHECK(kith_verify(&x, &y, NULL, NULL, k, &options, NULL) == KITH_INVALID_ARGUMENT && names("verification"));
}

int main(void) {
    int i;
    for (i = 0; i < n * d; ++i) points[i] = (float)(i * 37 % 101);
    for (i = 0; i < q * d; ++i) queries[i] = (float)(i * 23 % 89);
    test_refused();
    test_verify();
    printf("%d failures\n", failures);
    return failures != 0;
}
