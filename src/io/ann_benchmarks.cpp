// Results as an ann-benchmarks HDF5 file.
#include <algorithm>
#include <cstring>
#include <limits>

#include "io/errors.h"
#include "io/hdf5_metric.h"
#include "io/hdf5_session.h"
#include "io/output.h"

namespace kith {
namespace io {
namespace {

constexpr std::int64_t block_bytes = std::int64_t{8} << 20;

// Rows [first, first + count) of the view, dense; bf16, which HDF5 readers do not know, widened to f32 (exactly).
void gather(const MatrixView& view, std::int64_t first, std::int64_t count, std::byte* out) {
    const auto size = static_cast<std::int64_t>(size_of(view.type));
    const auto* data = static_cast<const std::byte*>(view.data);
    const bool by_row = view.layout == Layout::row_major;
    const std::int64_t row_step = by_row ? view.stride : 1;
    const std::int64_t col_step = by_row ? 1 : view.stride;
    for (std::int64_t i = first; i < first + count; ++i) {
        const std::byte* row = data + i * row_step * size;
        if (by_row && view.type != ElementType::bf16) {
            std::memcpy(out, row, static_cast<std::size_t>(view.cols * size));
            out += view.cols * size;
            continue;
        }
        for (std::int64_t j = 0; j < view.cols; ++j) {
            const std::byte* element = row + j * col_step * size;
            if (view.type == ElementType::bf16) {
                std::uint16_t bits = 0;
                std::memcpy(&bits, element, sizeof bits);
                const std::uint32_t wide = std::uint32_t{bits} << 16;
                std::memcpy(out, &wide, sizeof wide);
                out += sizeof wide;
            } else {
                std::memcpy(out, element, static_cast<std::size_t>(size));
                out += size;
            }
        }
    }
}

void write_view(hid_t file, const Target& target, const char* dataset, const MatrixView& view) {
    const ElementType type = view.type == ElementType::bf16 ? ElementType::f32 : view.type;
    const FileInfo info{"hdf5", view.rows, view.cols, type};
    const Hdf5Handle created = hdf5_create_dataset(file, target, dataset, info);
    const std::int64_t row_bytes = view.cols * static_cast<std::int64_t>(size_of(type));
    const std::int64_t step = std::min(view.rows, std::max<std::int64_t>(1, block_bytes / row_bytes));
    std::vector<std::byte> block(static_cast<std::size_t>(step * row_bytes));
    for (std::int64_t first = 0; first < view.rows; first += step) {
        const std::int64_t count = std::min(step, view.rows - first);
        gather(view, first, count, block.data());
        hdf5_write_rows(created, target, info, first, count, block.data());
    }
}

void require_host(const std::string& path, const char* what, const MatrixView& view) {
    if (!view.data) return;
    if (view.device != host_memory) {
        bad_argument(fmt::format("{}: expected {} in host memory, got device {}", path, what, view.device));
    }
    const std::int64_t least = view.layout == Layout::row_major ? view.cols : view.rows;
    if (view.rows < 1 || view.cols < 1 || view.stride < least) {
        bad_argument(fmt::format("{}: expected {} with rows, columns >= 1 and a stride >= {}, got {} x {}, stride {}",
                                 path, what, least, view.rows, view.cols, view.stride));
    }
}

void require_complete(const std::string& path, const Neighbors& neighbors) {
    const auto cells = static_cast<std::size_t>(neighbors.queries * neighbors.k);
    const auto absent_or_full = [&](std::size_t size) { return size == 0 || size == cells; };
    if (neighbors.queries < 1 || neighbors.k < 1 || neighbors.ids.size() != cells ||
        !absent_or_full(neighbors.distances.size()) || !absent_or_full(neighbors.distances64.size())) {
        bad_argument(
            fmt::format("{}: expected queries x k = {} x {} ids, at least one, and as many distances, got {} ids", path,
                        neighbors.queries, neighbors.k, neighbors.ids.size()));
    }
}

void write_neighbors(hid_t file, const Target& target, const Neighbors& neighbors) {
    const std::int64_t q = neighbors.queries, k = neighbors.k;
    constexpr std::int64_t narrow_limit = std::numeric_limits<std::int32_t>::max();
    if (*std::max_element(neighbors.ids.begin(), neighbors.ids.end()) <= narrow_limit) {
        const std::vector<std::int32_t> narrow(neighbors.ids.begin(), neighbors.ids.end());
        write_view(file, target, "neighbors", view(narrow.data(), q, k));
    } else {
        write_view(file, target, "neighbors", view(neighbors.ids.data(), q, k));
    }
    if (!neighbors.distances.empty()) write_view(file, target, "distances", view(neighbors.distances.data(), q, k));
    else if (!neighbors.distances64.empty())
        write_view(file, target, "distances", view(neighbors.distances64.data(), q, k));
}

// ann-benchmarks' word for the coordinates.
const char* point_type(ElementType type) {
    const bool integer = type == ElementType::i8 || type == ElementType::u8;
    return integer ? "int" : "float";
}

}  // namespace
}  // namespace io

void write_ann_benchmarks(const std::string& path, const Neighbors& neighbors, const Metric& metric,
                          const MatrixView& train, const MatrixView& test) {
    using namespace io;
    require_complete(path, neighbors);
    require_host(path, "train", train);
    require_host(path, "test", test);

    PendingFile pending(path, "");
    const Target& target = pending.target();
    {
        Hdf5Session session;
        Hdf5Handle file = hdf5_create_file(target);
        const MatrixView& points = train.data ? train : test;
        write_text(file, target, "type", "dense");
        write_metric(file, target, metric);
        write_text(file, target, "point_type", point_type(points.type));
        if (points.data) write_attribute(file, target, "dimension", H5T_NATIVE_INT64, &points.cols);
        if (train.data) write_view(file, target, "train", train);
        if (test.data) write_view(file, target, "test", test);
        write_neighbors(file, target, neighbors);
        if (file.reset() < 0) bad_file(path, hdf5_why("cannot complete the HDF5 file"));
    }
    pending.commit();
}

}  // namespace kith
