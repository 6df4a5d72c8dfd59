// Infinite distances and queries of zeros on CUDA.
#include "far_cases.h"

TEST(GpuFar, FewerThanKFinite) {
    far_cases::fewer_than_k_finite("cuda");
}
TEST(GpuFar, FewerThanKFiniteAmongOthers) {
    far_cases::fewer_than_k_finite_among_others("cuda");
}
TEST(GpuFar, GraphOfFewFinite) {
    far_cases::graph_of_few_finite("cuda");
}
TEST(GpuFar, QueriesOfZeros) {
    far_cases::queries_of_zeros("cuda");
}
TEST(GpuFar, RowsOfZerosAroundAMean) {
    far_cases::rows_of_zeros_around_a_mean("cuda");
}
