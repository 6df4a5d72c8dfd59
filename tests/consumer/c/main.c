/* The C interface of an installed kith: three points, one query, its two nearest. */
#include <kith/c.h>
#include <stdio.h>

int main(void) {
    const float points[] = {0, 0, 3, 4, 1, 1}, queries[] = {0.9f, 1};
    const kith_matrix x = kith_view(points, 3, 2, KITH_F32), y = kith_view(queries, 1, 2, KITH_F32);
    int64_t ids[2];
    float distances[2];
    const kith_neighbors out = {ids, distances, KITH_HOST};
    if (kith_search(&x, &y, 2, NULL, &out, NULL) != KITH_OK) {
        fprintf(stderr, "%s\n", kith_last_error());
        return 1;
    }
    printf("kith %s: %d at %g, %d at %g\n", kith_version(), (int)ids[0], distances[0], (int)ids[1], distances[1]);
    return ids[0] == 2 && ids[1] == 0 ? 0 : 1;
}
