// See cells.h: leading coordinates of all points but the first, a k-d tree of them, whose leaves
// are the cells.
#include "gpu/points/cells.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "gpu/filter/cluster_order.h"
#include "gpu/filter/clusters.h"
#include "gpu/points/directions.h"
#include "gpu/points/sample.h"
#include "gpu/points/tuning.h"
#include "gpu/tree/order.h"

namespace kith::gpu {

namespace {

constexpr std::int64_t directions = cell_directions;

// Leading coordinates of some rows, with memory of their own.
struct OwnLeading {
    Buffer<float> coordinates, error;
    Buffer<double> room;
    OwnLeading(std::int64_t count, cudaStream_t stream)
        : coordinates(count * directions, stream), error(count, stream), room(count, stream) {}
    LeadingRows rows() const { return {coordinates.get(), error.get(), room.get()}; }
};

class CellMaking {
public:
    CellMaking(const ProjectionSample& sample, const FilterVectors& filter)
        : filter_(filter), stream_(sample.stream()) {
        const Columns found = sample.matrix(directions);
        const Buffer<double> kept(found.rows * directions, stream_);
        constexpr auto element = sizeof(double);
        check(cudaMemcpy2DAsync(kept.get(), directions * element, found.data,
                                static_cast<std::size_t>(found.stride) * element,
                                directions * element, static_cast<std::size_t>(found.rows),
                                cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        out_.matrix =
            std::make_unique<DigitMatrix>(kept.get(), found.rows, directions, directions, stream_);
        const double length = defect({kept.get(), found.rows, directions, directions}, stream_);
        out_.columns = {out_.matrix.get(),
                        exact::ProjectionError(length * length, found.rows, directions)};
    }

    // Cells of `size` points, a power of two, of those from position `first` on, up to n: their
    // numbers in that order, less `first`.
    Buffer<std::uint32_t> divide(std::int64_t first, std::int64_t n, std::int64_t size) {
        CellView& view = out_.view;
        const std::int64_t count = n - first;
        view = {.first = first,
                .n = n,
                .size = size,
                .count = (count + size - 1) / size,
                .gamma = filter_.form.gamma};
        const OwnLeading leading(count, stream_);
        leading_point_rows(out_.columns, row(first), filter_.half_norm.get() + first, count,
                           view.gamma, leading.rows(), stream_);
        Buffer<std::uint32_t> members;
        {
            const Buffer<double> values(count * directions, stream_);
            widen(leading.coordinates.get(), values.size(), values.get(), stream_);
            Buffer<std::uint8_t> nan(count, stream_);
            nan.clear_to(0);
            members = kd_order(values.get(), nan.get(), count, directions, true, size, stream_);
        }
        out_.coordinates = Buffer<float>(count * directions, stream_);
        out_.centres = Buffer<float>(view.count * directions, stream_);
        out_.bounds = Buffer<CellBound>(view.count, stream_);
        view.coordinates = out_.coordinates.get();
        view.centres = out_.centres.get();
        view.bounds = out_.bounds.get();
        order_leading_rows(leading.rows(), members.get(), view, out_.coordinates.get(),
                           out_.centres.get(), out_.bounds.get(), stream_);
        return members;
    }

    // Of points that have been divided, behind `pilots` queries, the share of cells that these must
    // be compared with, if the nearest of the points is what their thresholds will be.
    // Synchronises.
    double share(std::int64_t pilots) const {
        const CellView& view = out_.view;
        const std::int64_t count = view.n - view.first, ld = whole_tiles(count);
        const __half* const queries = row(view.first - pilots);
        const Buffer<float> values(pilots * ld, stream_), thresholds(pilots, stream_);
        FilterPass among;
        among.queries = queries;
        among.points = row(view.first);
        among.half_norm = filter_.half_norm.get() + view.first;
        among.q = pilots;
        among.n = among.count = count;
        among.width = filter_.form.width;
        among.all = values.get();
        among.ld = ld;
        filter_pass(among, FilterIsa::sm_90a, stream_);
        nearest_centres(values.get(), ld, pilots, count, nullptr, thresholds.get(), stream_);
        const OwnLeading leading(pilots, stream_);
        leading_rows(out_.columns, queries, pilots, leading.rows(), stream_);
        std::vector<std::uint32_t> numbers(static_cast<std::size_t>(pilots));
        std::iota(numbers.begin(), numbers.end(), 0u);
        const Buffer<std::uint32_t> order(pilots, stream_), counts(view.count + 1, stream_),
            masks(view.count * ((pilots + 31) / 32), stream_);
        InFlight reading(stream_);
        check(cudaMemcpyAsync(order.get(), numbers.data(), numbers.size() * sizeof(numbers[0]),
                              cudaMemcpyDefault, stream_),
              "cudaMemcpy");
        const Buffer<float> apart(view.count * pilots, stream_), near(pilots, stream_),
            centres(pilots * directions, stream_);
        const Buffer<int> supports(pilots * view.count, stream_);
        Buffer<std::uint8_t> none(pilots, stream_);
        none.clear_to(0);
        // Each for itself.
        const CellQueries one_by_one{.order = order.get(),
                                     .rows = leading.rows(),
                                     .q = pilots,
                                     .group = 1,
                                     .apart = apart.get(),
                                     .near = near.get()};
        measure_cells(view, one_by_one, centres.get(), supports.get(), stream_);
        choose_cells(view, one_by_one, {.threshold = thresholds.get(), .overflowed = none.get()},
                     {counts.get(), masks.get()}, stream_);
        reading.wait("cells");
        const std::vector<std::uint32_t> seen = fetched(counts, stream_);
        const double others = std::accumulate(seen.begin(), seen.end() - 1, 0.0),
                     all = static_cast<double>(pilots) * static_cast<double>(view.count);
        return (others + static_cast<double>(pilots * near_cells)) / all;
    }

    Cells take() { return std::move(out_); }

private:
    const __half* row(std::int64_t position) const {
        return reinterpret_cast<const __half*>(filter_.vectors.get() +
                                               vector_bytes(filter_.form, position));
    }

    const FilterVectors& filter_;
    cudaStream_t stream_;
    Cells out_;
};

}  // namespace

std::optional<Cells> find_cells(const ProjectionSample& sample, const FilterVectors& filter,
                                std::int64_t n, const ProjectionChoices& choices) {
    const std::int64_t least =
        choices.always ? tuning::least_cells * least_cell_points : tuning::least_celled;
    if (!choices.reorder || n < least || sample.found() < directions) return std::nullopt;
    const std::int64_t first = tuning::cell_sample(n), size = cell_points(n - first);
    std::optional<Cells> out;
    Buffer<std::uint32_t> order;
    try {
        CellMaking making(sample, filter);
        if (!choices.always) {
            // As many cells of a sample.
            constexpr std::int64_t pilots = listed_queries, tried = tuning::cell_pilot_points;
            const auto own = std::bit_floor(
                static_cast<std::uint64_t>(std::max<std::int64_t>(tried * size / n, 16)));
            making.divide(pilots, tried, static_cast<std::int64_t>(own));
            if (making.share(pilots) > tuning::most_celled_share) return std::nullopt;
        }
        const Buffer<std::uint32_t> members = making.divide(first, n, size);
        order = Buffer<std::uint32_t>(n, sample.stream());
        ordered_rows(members.get(), first, n, filter.form.stride, order.get(), sample.stream());
        out = making.take();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
        return std::nullopt;
    }
    choices.reorder(std::move(order));
    return out;
}

}  // namespace kith::gpu
