// Infinite distances and queries of zeros on the CPU.
#include "far_cases.h"

TEST(Far, FewerThanKFinite) {
    far_cases::fewer_than_k_finite("cpu");
}
TEST(Far, FewerThanKFiniteAmongOthers) {
    far_cases::fewer_than_k_finite_among_others("cpu");
}
TEST(Far, GraphOfFewFinite) {
    far_cases::graph_of_few_finite("cpu");
}
TEST(Far, QueriesOfZeros) {
    far_cases::queries_of_zeros("cpu");
}
TEST(Far, RowsOfZerosAroundAMean) {
    far_cases::rows_of_zeros_around_a_mean("cpu");
}
