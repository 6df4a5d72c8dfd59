/* The C interface from C99: the same answers as plain loops, options, indexes, functors, plans, errors. */
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

enum { n = 500, q = 20, d = 7, k = 9 };
static float points[n * d], queries[q * d];
static int64_t ids[n * k];
static float distances[n * k];
static double distances64[n * k];

static void fill(float* values, int count, unsigned seed) {
    int i;
    for (i = 0; i < count; ++i) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = (float)(seed >> 16) / 4096.0f;
    }
}

typedef double (*metric_function)(const float* a, const float* b);

static double sqeuclidean(const float* a, const float* b) {
    double sum = 0;
    int j;
    for (j = 0; j < d; ++j) sum += ((double)a[j] - b[j]) * ((double)a[j] - b[j]);
    return sum;
}

static double cityblock(const float* a, const float* b) {
    double sum = 0;
    int j;
    for (j = 0; j < d; ++j) sum += fabs((double)a[j] - b[j]);
    return sum;
}

static double inner_product(const float* a, const float* b) {
    double sum = 0;
    int j;
    for (j = 0; j < d; ++j) sum += (double)a[j] * b[j];
    return -sum;
}

/* The number of results that differ from k passes over all points; `self` leaves point i out of row i. */
static int wrong(metric_function f, const float* rows, int count, int self, const int64_t* found) {
    int i, j, x, bad = 0;
    for (i = 0; i < count; ++i) {
        char taken[n] = {0};
        if (self) taken[i] = 1;
        for (j = 0; j < k; ++j) {
            int best = -1;
            double nearest = 0;
            for (x = 0; x < n; ++x) {
                const double value = f(rows + i * d, points + x * d);
                if (!taken[x] && (best < 0 || value < nearest)) {
                    best = x;
                    nearest = value;
                }
            }
            taken[best] = 1;
            bad += found[i * k + j] != best;
        }
    }
    return bad;
}

static int names(const char* part) {
    return strstr(kith_last_error(), part) != NULL;
}

static int cancel(const kith_progress* progress, void* user) {
    ++*(int*)user;
    return progress->total < 0;
}

static void cityblock_rows(const void* state, const double* query, const double* rows, int64_t stride, int64_t count,
                           int64_t dimensions, double start, double* out) {
    int64_t i, j;
    (void)state;
    for (i = 0; i < count; ++i) {
        out[i] = start;
        for (j = 0; j < dimensions; ++j) out[i] += fabs(query[j] - rows[i * stride + j]);
    }
}

static void test_search(const kith_matrix* x, const kith_matrix* y) {
    kith_options options;
    kith_report report;
    const kith_neighbors out = {ids, distances, KITH_HOST}, out64 = {ids, distances64, KITH_HOST};
    kith_neighbors ids_only = {ids, NULL, KITH_HOST};
    memset(&report, 0, sizeof(report));
    report.struct_size = sizeof(report);
    CHECK(kith_search(x, y, k, NULL, &out, &report) == KITH_OK);
    CHECK(wrong(sqeuclidean, queries, q, 0, ids) == 0);
    CHECK(distances[0] == (float)sqeuclidean(queries, points + ids[0] * d));
    CHECK(report.queries == q && report.pairs == (double)q * n && report.path[0] && report.device[0]);

    kith_options_init(&options, sizeof(options));
    options.device = "cpu";
    options.threads = 1;
    CHECK(kith_metric_named("l1", &options.metric) == KITH_OK && options.metric == KITH_METRIC_cityblock);
    options.f64 = 1;
    CHECK(kith_search(x, y, k, &options, &out64, NULL) == KITH_OK);
    CHECK(wrong(cityblock, queries, q, 0, ids) == 0);
    CHECK(distances64[k] == cityblock(queries + d, points + ids[k] * d));

    options.metric = KITH_METRIC_formula;
    options.formula = "a + fabs(q - x)";
    memset(ids, 0, sizeof(ids));
    CHECK(kith_search(x, y, k, &options, &ids_only, NULL) == KITH_OK);
    CHECK(wrong(cityblock, queries, q, 0, ids) == 0);

    options.metric = KITH_METRIC_inner_product;
    CHECK(kith_graph(x, k, &options, &ids_only, NULL) == KITH_OK);
    CHECK(wrong(inner_product, points, n, 1, ids) == 0);
    options.include_self = 1;
    CHECK(kith_graph(x, k, &options, &ids_only, NULL) == KITH_OK);
    for (int64_t i = 0; i < n; ++i) CHECK(ids[i * k] == i);
}

static void test_index(const kith_matrix* x, const kith_matrix* y) {
    kith_functor functor = {"blocks", cityblock_rows, NULL, NULL, 0};
    const kith_neighbors out = {ids, distances, KITH_HOST};
    kith_options options;
    kith_index* index = NULL;
    kith_options_init(&options, sizeof(options));
    options.device = "cpu";
    options.metric = KITH_METRIC_functor;
    options.functor = &functor;
    CHECK(kith_index_create(x, &options, &index) == KITH_OK);
    functor.host = NULL; /* the index has its own copy */
    CHECK(kith_index_size(index) == n && kith_index_dimensions(index) == d);
    CHECK(kith_index_search(index, y, k, NULL, &out, NULL) == KITH_OK);
    CHECK(wrong(cityblock, queries, q, 0, ids) == 0);
    CHECK(kith_index_graph(index, k, NULL, &out, NULL) == KITH_OK);
    CHECK(wrong(cityblock, points, n, 1, ids) == 0);
    /* Its own metric may be named again, the default stands for it, another one is refused. */
    functor.host = cityblock_rows;
    CHECK(kith_index_search(index, y, k, &options, &out, NULL) == KITH_OK);
    options.metric = KITH_METRIC_default;
    CHECK(kith_index_search(index, y, k, &options, &out, NULL) == KITH_OK);
    options.metric = KITH_METRIC_sqeuclidean;
    CHECK(kith_index_search(index, y, k, &options, &out, NULL) == KITH_INVALID_ARGUMENT &&
          names("metric: sqeuclidean"));
    CHECK(kith_index_graph(index, k, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("prepared for functor"));
    kith_index_free(index);
    kith_index_free(NULL);
}

static void test_select(void) {
    const float row[] = {3, 1, 2, 5, 4, 1};
    const kith_matrix m = kith_view(row, 2, 3, KITH_F32);
    const kith_neighbors out = {ids, distances, KITH_HOST};
    kith_options options;
    kith_report report;
    memset(&report, 0, sizeof(report));
    report.struct_size = sizeof(report);
    CHECK(kith_select(&m, 2, NULL, &out, NULL) == KITH_OK);
    CHECK(ids[0] == 1 && ids[1] == 2 && ids[2] == 2 && ids[3] == 1);
    kith_options_init(&options, sizeof(options));
    options.largest = 1;
    CHECK(kith_select(&m, 1, &options, &out, NULL) == KITH_OK);
    CHECK(ids[0] == 0 && ids[1] == 0 && distances[1] == 5);

    options.device = "cpu";
    options.selector = "heap";
    options.order = "descending";
    CHECK(kith_select(&m, 1, &options, &out, &report) == KITH_OK);
    CHECK(ids[0] == 0 && ids[1] == 0 && report.device_seconds == 0 && report.seconds > 0);
    options.selector = "sieve";
    CHECK(kith_select(&m, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("heap"));
    options.selector = NULL;
    options.order = "sideways";
    CHECK(kith_select(&m, 1, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("order: 'sideways'"));
    /* Structs as they were before the last fields were added. */
    options.order = NULL;
    options.device = "cpu";
    options.selector = "heap";
    report.struct_size = sizeof(report);
    CHECK(kith_select(&m, 1, &options, &out, &report) == KITH_OK && strcmp(report.selector, "heap") == 0);
    report.struct_size = offsetof(kith_report, selector);
    report.selector[0] = '?';
    CHECK(kith_select(&m, 1, &options, &out, &report) == KITH_OK && report.selector[0] == '?');
    options.selector = NULL;
    report.struct_size = offsetof(kith_report, trace);
    report.trace[0].queries = -1;
    CHECK(kith_select(&m, 1, NULL, &out, &report) == KITH_OK && report.trace[0].queries == -1);
    options.struct_size = offsetof(kith_options, order);
    report.struct_size = offsetof(kith_report, device_seconds);
    report.device_seconds = -1;
    CHECK(kith_select(&m, 1, &options, &out, &report) == KITH_OK && report.device_seconds == -1);
}

static void test_distances(void) {
    const float points[] = {0, 0, 3, 4}, queries[] = {0, 0, 6, 8, 3, 0};
    const kith_matrix x = kith_view(points, 2, 2, KITH_F32), y = kith_view(queries, 3, 2, KITH_F32);
    float rows[9] = {-1, -1, -1, -1, -1, -1, -1, -1, -1};
    double wide[6];
    kith_options options;
    kith_report r;
    memset(&r, 0, sizeof(r));
    r.struct_size = sizeof(r);
    CHECK(kith_distances(&x, &y, NULL, rows, 3, KITH_HOST, &r) == KITH_OK);
    CHECK(rows[0] == 0 && rows[1] == 25 && rows[2] == -1 && rows[3] == 100 && rows[4] == 25 && rows[6] == 9);
    CHECK(r.queries == 3 && r.pairs == 6);
    kith_options_init(&options, sizeof(options));
    options.metric = KITH_METRIC_euclidean;
    options.f64 = 1;
    CHECK(kith_distances(&x, &y, &options, wide, 0, KITH_HOST, NULL) == KITH_OK);
    CHECK(wide[1] == 5 && wide[2] == 10 && wide[5] == 4);
    CHECK(kith_distances(&x, &y, &options, NULL, 0, KITH_HOST, NULL) == KITH_INVALID_ARGUMENT && names("out.data"));
    CHECK(kith_distances(&x, &y, &options, wide, 1, KITH_HOST, NULL) == KITH_INVALID_ARGUMENT && names("stride: 1"));
}

struct taken {
    int64_t offsets[4], ids[8], rows;
    double distances[8];
    int stop;
};

static int take_rows(const kith_radius_rows* rows, void* context) {
    struct taken* t = context;
    int64_t i;
    for (i = 1; i <= rows->count; ++i) t->offsets[rows->first + i] = t->offsets[rows->first] + rows->offsets[i];
    for (i = 0; i < rows->offsets[rows->count]; ++i) {
        t->ids[t->offsets[rows->first] + i] = rows->ids[i];
        t->distances[t->offsets[rows->first] + i] = ((const double*)rows->distances)[i];
    }
    t->rows += rows->count;
    return !t->stop;
}

static void test_radius(void) {
    const float points[] = {0, 0, 3, 4, 6, 8}, queries[] = {0, 0, 6, 8};
    const double each[] = {4.9, 100};
    const kith_matrix x = kith_view(points, 3, 2, KITH_F32), y = kith_view(queries, 2, 2, KITH_F32);
    const kith_matrix radii = kith_view(each, 2, 1, KITH_F64);
    struct taken t;
    int64_t counts[3];
    kith_options options;
    kith_report r;
    memset(&t, 0, sizeof(t));
    memset(&r, 0, sizeof(r));
    r.struct_size = sizeof(r);
    kith_options_init(&options, sizeof(options));
    options.metric = KITH_METRIC_euclidean;
    options.f64 = 1;
    CHECK(kith_radius(&x, &y, 5, NULL, 0, &options, take_rows, &t, &r) == KITH_OK && r.queries == 2);
    CHECK(t.rows == 2 && t.offsets[1] == 2 && t.offsets[2] == 4 && t.ids[1] == 1 && t.ids[2] == 2 && t.ids[3] == 1);
    CHECK(t.distances[0] == 0 && t.distances[1] == 5);
    CHECK(kith_radius_counts(&x, &y, 5, NULL, 1, &options, counts, NULL) == KITH_OK);
    CHECK(counts[0] == 1 && counts[1] == 1);
    CHECK(kith_radius_counts(&x, &y, 0, &radii, 0, &options, counts, NULL) == KITH_OK);
    CHECK(counts[0] == 1 && counts[1] == 3);
    CHECK(kith_radius_counts(&x, NULL, 5, NULL, 0, &options, counts, NULL) == KITH_OK);
    CHECK(counts[0] == 1 && counts[1] == 2 && counts[2] == 1);
    /* Of no named metric r is a distance: with its square all three points would be apart. */
    CHECK(kith_radius_counts(&x, &y, 5, NULL, 0, NULL, counts, NULL) == KITH_OK && counts[0] == 2 && counts[1] == 2);
    options.metric = KITH_METRIC_sqeuclidean;
    CHECK(kith_radius_counts(&x, &y, 5, NULL, 0, &options, counts, NULL) == KITH_OK && counts[0] == 1);
    options.metric = KITH_METRIC_euclidean;
    t.stop = 1;
    CHECK(kith_radius(&x, &y, 5, NULL, 0, &options, take_rows, &t, NULL) == KITH_CANCELLED);
    CHECK(kith_radius(&x, &y, 5, NULL, 0, &options, NULL, NULL, NULL) == KITH_INVALID_ARGUMENT && names("take"));
    CHECK(kith_radius_counts(&x, &y, -1, NULL, 0, &options, counts, NULL) == KITH_INVALID_ARGUMENT && names("r: -1"));
    CHECK(kith_radius_counts(&x, &y, 1, NULL, 0, &options, NULL, NULL) == KITH_INVALID_ARGUMENT && names("counts"));
}

static void test_errors(const kith_matrix* x, const kith_matrix* y) {
    const kith_neighbors out = {ids, distances, KITH_HOST};
    kith_matrix bad = *x;
    kith_options options;
    kith_report report = {0};
    kith_index* index = (kith_index*)&bad;
    CHECK(kith_search(NULL, y, k, NULL, &out, NULL) == KITH_INVALID_ARGUMENT && names("points"));
    CHECK(kith_search(x, y, 0, NULL, &out, NULL) == KITH_INVALID_ARGUMENT && names("k: 0"));
    CHECK(kith_search(x, y, k, NULL, NULL, NULL) == KITH_INVALID_ARGUMENT && names("out"));
    CHECK(kith_search(x, y, k, NULL, &out, &report) == KITH_INVALID_ARGUMENT && names("report.struct_size"));
    bad.type = 17;
    CHECK(kith_search(&bad, y, k, NULL, &out, NULL) == KITH_INVALID_ARGUMENT && names("points.type: 17"));
    CHECK(kith_index_create(&bad, NULL, &index) == KITH_INVALID_ARGUMENT && index == NULL);
    CHECK(kith_index_search(NULL, y, k, NULL, &out, NULL) == KITH_INVALID_ARGUMENT && names("index"));
    memset(&options, 0, sizeof(options));
    CHECK(kith_search(x, y, k, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("kith_options_init"));
    kith_options_init(&options, sizeof(options));
    options.metric = 500;
    CHECK(kith_search(x, y, k, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("metric: 500"));
    CHECK(kith_metric_named("nearness", &options.metric) == KITH_INVALID_ARGUMENT && names("sqeuclidean"));
    CHECK(kith_metric_name(500) == NULL && strcmp(kith_metric_name(KITH_METRIC_cosine), "cosine") == 0);
    kith_options_init(&options, sizeof(options));
    options.device = "cuda:99";
    CHECK(kith_search(x, y, k, &options, &out, NULL) == KITH_DEVICE);
}

/* A search of over a second, cancelled at the first call. */
static void test_cancel(void) {
    const int64_t many = 20000;
    const size_t bytes = (size_t)many * 64 * sizeof(float);
    float* rows = malloc(bytes);
    int64_t* found = malloc((size_t)many * 10 * sizeof(*found));
    int calls = 0;
    kith_options options;
    kith_matrix x;
    kith_neighbors out;
    if (!rows || !found) exit(1);
    fill(rows, (int)many * 64, 3);
    x = kith_view(rows, many, 64, KITH_F32);
    out.ids = found;
    out.distances = NULL;
    out.device = KITH_HOST;
    kith_options_init(&options, sizeof(options));
    options.device = "cpu";
    options.metric = KITH_METRIC_minkowski;
    options.p = 2.5;
    options.progress = cancel;
    options.progress_user = &calls;
    CHECK(kith_search(&x, &x, 10, &options, &out, NULL) == KITH_CANCELLED);
    CHECK(calls == 1);
    free(rows);
    free(found);
}

static void test_texts(void) {
    const kith_shape shape = {1000000, 100, 128, 10, KITH_F32, 0};
    char text[4096], cut[8];
    size_t length = 0, again = 0;
    kith_options options;
    kith_options_init(&options, sizeof(options));
    options.device = "cpu";
    CHECK(kith_plan(&shape, &options, NULL, 0, &length) == KITH_OK && length > 20);
    CHECK(kith_plan(&shape, &options, text, sizeof(text), &again) == KITH_OK && again == length);
    CHECK(length < sizeof(text) && strlen(text) == length);
    CHECK(kith_plan(&shape, &options, cut, sizeof(cut), NULL) == KITH_OK && strlen(cut) == sizeof(cut) - 1);
    CHECK(kith_plan_select(1000, 100000, 10, KITH_F32, &options, text, sizeof(text), NULL) == KITH_OK);
    CHECK(strstr(text, "vector") != NULL);
    CHECK(kith_plan_select(10, 5, 6, KITH_F32, &options, NULL, 0, NULL) == KITH_INVALID_ARGUMENT && names("k: 6"));
    CHECK(kith_plan_select(10, 5, 5, KITH_U8, &options, NULL, 0, NULL) == KITH_INVALID_ARGUMENT && names("u8"));
    CHECK(kith_build_info(text, sizeof(text), NULL) == KITH_OK && strstr(text, kith_version()) != NULL);
    CHECK(kith_paths(text, sizeof(text), NULL) == KITH_OK && strstr(text, "tree\tcpu,gpu\t") != NULL);
    CHECK(kith_selectors(NULL, 0, &length) == KITH_OK && length > 100);
    CHECK(kith_selectors(text, sizeof(text), NULL) == KITH_OK && strstr(text, "heap\tcpu\t1\t0\t") != NULL);
    CHECK(kith_type_size(KITH_BF16) == 2 && strcmp(kith_type_name(KITH_U8), "u8") == 0);
}

/* Variances of four halve every distance. */
static void test_variances(const kith_matrix* x, const kith_matrix* y) {
    double fours[d];
    kith_matrix v;
    const kith_neighbors out = {ids, distances64, KITH_HOST};
    static double plain[q * k];
    kith_options options;
    int i;
    for (i = 0; i < d; ++i) fours[i] = 4;
    kith_options_init(&options, sizeof(options));
    options.f64 = 1;
    options.metric = KITH_METRIC_euclidean;
    CHECK(kith_search(x, y, k, &options, &out, NULL) == KITH_OK);
    memcpy(plain, distances64, sizeof(plain));
    options.metric = KITH_METRIC_seuclidean;
    v = kith_view(fours, d, 1, KITH_F64);
    options.variances = &v;
    CHECK(kith_search(x, y, k, &options, &out, NULL) == KITH_OK);
    for (i = 0; i < q * k; ++i) CHECK(distances64[i] == plain[i] / 2);
    fours[2] = -1;
    CHECK(kith_search(x, y, k, &options, &out, NULL) == KITH_INVALID_ARGUMENT && names("variances: number 2"));
}

int main(void) {
    kith_matrix x, y;
    fill(points, n * d, 1);
    fill(queries, q * d, 2);
    x = kith_view(points, n, d, KITH_F32);
    y = kith_view(queries, q, d, KITH_F32);
    CHECK(kith_last_error()[0] == '\0');
    test_search(&x, &y);
    test_index(&x, &y);
    test_variances(&x, &y);
    test_select();
    test_distances();
    test_radius();
    test_errors(&x, &y);
    test_cancel();
    test_texts();
    printf("%d failures\n", failures);
    return failures != 0;
}
