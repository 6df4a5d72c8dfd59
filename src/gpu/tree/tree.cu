// Making a tree: map, order, fill the leaves, join the boxes.
#include "gpu/tree/tree.h"

#include "gpu/metric/scan_pairs.cuh"
#include "gpu/primitives/block.cuh"
#include "gpu/runtime/check.h"
#include "gpu/runtime/launch.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

namespace {

__device__ __forceinline__ std::int64_t own_item() {
    return blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
}

// From the order of the scan to that of the coordinates.
__global__ void plain_kernel(const double* scanned, ScanOrder order, std::int64_t cells,
                             std::int64_t d, double* out) {
    const std::int64_t cell = own_item();
    if (cell >= cells) return;
    const std::int64_t row = cell / d, col = cell % d;
    out[cell] = scanned[row * d + scan_place(order, col)];
}

// A thread owns a place in a leaf.
__global__ void fill_kernel(const double* values, const std::uint8_t* nan,
                            const std::uint32_t* order, std::int64_t count, std::int64_t d,
                            std::int64_t places, double* coordinates, std::uint32_t* ids) {
    const std::int64_t place = own_item();
    if (place >= places) return;
    const bool any = place < count;
    const std::uint32_t row = any ? order[place] : 0;
    ids[place] = !any ? no_point : nan[row] ? row | nan_point : row;
    double* const to = coordinates + place / leaf_points * d * leaf_points + place % leaf_points;
    for (std::int64_t j = 0; j < d; ++j) to[j * leaf_points] = any ? values[row * d + j] : 0.0;
}

__device__ __forceinline__ double warp_least(double x) {
    for (int half = 16; half > 0; half /= 2) x = fmin(x, __shfl_xor_sync(whole_warp, x, half));
    return x;
}
__device__ __forceinline__ double warp_most(double x) {
    for (int half = 16; half > 0; half /= 2) x = fmax(x, __shfl_xor_sync(whole_warp, x, half));
    return x;
}

// A warp owns a box of a level, of the `boxes` boxes that its nodes have room for: from the leaf of
// that number, or the node of the level below. Beyond `filled` boxes there are none.
__global__ void join_kernel(TreeView tree, int level, std::int64_t filled, std::int64_t boxes,
                            double* ends, std::uint32_t* least_ids, std::uint32_t* counts) {
    const std::int64_t box = own_item() / 32, d = tree.d;
    if (box >= boxes) return;
    const int lane = threadIdx.x % 32;
    const std::int64_t below = level > 0 ? tree.first_node[level - 1] + box : box;
    std::uint32_t least = no_point, count = 0;
    if (box < filled) {
        least =
            level > 0 ? least_ids[below * node_boxes + lane] : tree.ids[below * leaf_points + lane];
        if (least & nan_point) least = no_point;
        else count = level > 0 ? counts[below * node_boxes + lane] : 1;
    }
    const bool any = least != no_point;
    const std::int64_t node = tree.first_node[level] + box / node_boxes, own = box % node_boxes;
    const double infinity = bits_to_double(0x7ff0000000000000ULL);
    for (std::int64_t j = 0; j < d; ++j) {
        double low = infinity, high = -infinity;
        if (any && level > 0) {
            low = ends[(below * d + j) * 2 * node_boxes + lane];
            high = ends[((below * d + j) * 2 + 1) * node_boxes + lane];
        } else if (any) {
            low = high = tree.coordinates[(below * d + j) * leaf_points + lane];
        }
        low = warp_least(low);
        high = warp_most(high);
        if (lane == 0) {
            ends[(node * d + j) * 2 * node_boxes + own] = low;
            ends[((node * d + j) * 2 + 1) * node_boxes + own] = high;
        }
    }
    least = __reduce_min_sync(whole_warp, least);
    count = __reduce_add_sync(whole_warp, count);
    if (lane == 0) {
        least_ids[node * node_boxes + own] = least;
        counts[node * node_boxes + own] = count;
    }
}

}  // namespace

Buffer<double> map_rows(const PreparedRows& rows, const MetricKernels& kernels,
                        const metric::Params& params, cudaStream_t stream) {
    const std::int64_t cells = rows.rows.count * params.d;
    Buffer<double> scanned(cells, stream), out(cells, stream);
    if (cells == 0) return out;
    kernels.convert(rows, scanned.get(), params, stream);
    plain_kernel<<<item_blocks(cells), item_threads, 0, stream>>>(
        scanned.get(), scan_order(params.d), cells, params.d, out.get());
    check_launch("plain");
    return out;
}

Tree make_tree(const PreparedRows& rows, const MetricKernels& kernels, const metric::Params& params,
               cudaStream_t stream) {
    const std::int64_t n = rows.rows.count, d = params.d;
    Tree tree;
    TreeView& view = tree.view;
    view.points = n;
    view.d = d;
    if (n == 0) return tree;
    const std::int64_t leaves = view.leaves(), places = leaves * leaf_points;
    std::int64_t filled[most_tree_levels], nodes = 0;
    for (std::int64_t boxes = leaves;; boxes = (boxes + node_boxes - 1) / node_boxes) {
        filled[view.levels] = boxes;
        view.first_node[view.levels++] = nodes;
        nodes += (boxes + node_boxes - 1) / node_boxes;
        if (boxes <= node_boxes) break;
    }
    tree.coordinates = Buffer<double>(places * d, stream);
    tree.ids = Buffer<std::uint32_t>(places, stream);
    tree.ends = Buffer<double>(nodes * d * 2 * node_boxes, stream);
    tree.least_ids = Buffer<std::uint32_t>(nodes * node_boxes, stream);
    tree.counts = Buffer<std::uint32_t>(nodes * node_boxes, stream);
    view.coordinates = tree.coordinates.get();
    view.ids = tree.ids.get();
    view.ends = tree.ends.get();
    view.least_ids = tree.least_ids.get();
    view.counts = tree.counts.get();
    {
        const Buffer<double> values = map_rows(rows, kernels, params, stream);
        const Buffer<std::uint32_t> order = kd_order(
            values.get(), rows.nan, n, d, rows.rows.type != ElementType::f64, leaf_points, stream);
        fill_kernel<<<item_blocks(places), item_threads, 0, stream>>>(
            values.get(), rows.nan, order.get(), n, d, places, tree.coordinates.get(),
            tree.ids.get());
        check_launch("fill");
    }
    for (int level = 0; level < view.levels; ++level) {
        const std::int64_t boxes = (filled[level] + node_boxes - 1) / node_boxes * node_boxes;
        join_kernel<<<blocks_for(boxes, item_warps), item_threads, 0, stream>>>(
            view, level, filled[level], boxes, tree.ends.get(), tree.least_ids.get(),
            tree.counts.get());
        check_launch("join");
    }
    return tree;
}

}  // namespace kith::gpu
