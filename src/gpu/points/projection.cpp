// How many directions, and whether they pay, by a sample; then the rows of all points along them.
#include "gpu/points/projection.h"

#include <algorithm>

#include "gpu/filter/bytes.h"
#include "gpu/points/cells.h"
#include "gpu/points/kept_projection.h"
#include "gpu/points/projection_costs.h"
#include "gpu/points/projection_sample.h"
#include "gpu/points/tried_columns.h"
#include "gpu/points/tuning.h"
#include "gpu/primitives/gather.h"

namespace kith::gpu {

namespace {

// One choice after the other, and what the cheapest of them makes of the points.
class Projecting {
public:
    Projecting(const FilterVectors& filter, std::int64_t n, ProjectionChoices choices,
               cudaStream_t stream, const VectorSource* source)
        : filter_(filter),
          source_(source),
          choices_(choices),
          n_(n),
          stream_(stream),
          sample_(filter, n, stream),
          costs_{.width = filter.form.width, .in_bytes = choices.byte_directions} {
        if (!sample_.serves()) return;
        const std::int64_t width = sample_.width(), made_of = sample_.made_of();
        if (choices.byte_directions)
            costs_.passes = columns_of(tuning::byte_pass_columns, width, made_of);
        else if (choices.directions)
            costs_.passes = columns_of(tuning::pass_columns, width, made_of);
        if (choices.bytes && byte_width(width) <= most_byte_width)
            bytes_ = choose_coordinate_bytes(sample_);
        if (costs_.passes.empty() && !bytes_) return;
        if (!costs_.passes.empty()) sample_.find_columns(costs_.passes.back());
        try_columns(costs_.passes);
        // Further directions: where leaving out nearly all that passes would be enough.
        const std::vector<int> all = with_stages(costs_.passes, width, made_of);
        if (choices.most_stages > 0 && all.size() > costs_.passes.size() &&
            (choices.always || choices.least_stages > 0 || costs_.stages_may_pay()) &&
            sample_.find_further_columns(all.back()))
            try_columns(all);
        best_ = costs_.cheapest(choices, static_cast<bool>(bytes_));
    }

    std::optional<ProjectedVectors> found() {
        if (!best_) return std::nullopt;
        const bool all = best_->columns == 0;
        ProjectedVectors out;
        Directions& directions = out.directions;
        directions.depth = filter_.form.width;
        directions.form = filter_.form;
        directions.form.centre = nullptr;
        directions.form.factor = {};
        out.share = all ? costs_.shares.bytes : costs_.share(best_->columns);
        if (!(all ? keep_coordinates(sample_, bytes_, out)
                  : keep_directions(sample_, *best_, choices_.byte_directions, out)))
            return std::nullopt;
        if (directions.bytes && directions.stages > 0 && directions.columns >= cell_directions &&
            !source_)
            if (auto cells = find_cells(sample_, filter_, n_, choices_))
                out.cells = std::move(*cells);
        directions.form.order = filter_.form.order;
        out.vectors = Buffer<char>(vector_bytes(directions.form, n_), stream_);
        out.half_norm = Buffer<float>(whole_tiles(n_), stream_);
        add_stages(out);
        FurtherRows further{};
        std::ranges::transform(out.further, further.begin(),
                               [](const Buffer<char>& rows) { return rows.get(); });
        if (source_) project_runs(out);
        else
            project_points(directions, sample_.rows(), n_, filter_.half_norm.get(),
                           out.vectors.get(), out.half_norm.get(), further, stream_);
        if (directions.bytes && choices_.byte_terms)
            out.byte_terms = make_byte_terms(out, n_, 1, stream_);
        out.candidate_cost = costs_.candidate_cost(*best_, directions.stages);
        return out;
    }

private:
    void try_columns(const std::vector<int>& tried) {
        const bool in_bytes = costs_.in_bytes && !costs_.passes.empty();
        costs_.tried = tried;
        costs_.shares =
            sample_.try_columns(tried, bytes_.chosen.slack, in_bytes ? costs_.passes.back() : 0);
    }
    // Without memory for their rows stages are left out.
    void add_stages(ProjectedVectors& out) const {
        Directions& directions = out.directions;
        for (int stage = 0; stage < directions.stages; ++stage) {
            try {
                out.further[static_cast<std::size_t>(stage)] =
                    Buffer<char>(n_ * directions.further[stage].row_bytes(), stream_);
            } catch (const Error& error) {
                if (error.code() != ErrorCode::out_of_memory) throw;
                directions.stages = stage;
            }
        }
    }
    // Bytes of all rows, in the order in which these come, to their positions.
    void project_runs(ProjectedVectors& out) const {
        const std::int64_t step = std::min(n_, tuning::listed_rows(sample_.width()));
        const Buffer<char> vectors(vector_bytes(out.directions.form, step), stream_);
        const Buffer<float> half_norm(whole_tiles(step), stream_);
        fill_excluded(out.half_norm.get() + n_, whole_tiles(n_) - n_, stream_);
        for (std::int64_t first = 0; first < n_; first += step) {
            const std::int64_t count = std::min(step, n_ - first);
            const VectorRun run = (*source_)(first, count);
            project_points(out.directions, run.vectors, count, run.half_norm, vectors.get(),
                           half_norm.get(), {}, stream_);
            scatter_dense(vectors.get(), run.positions, count, vector_bytes(out.directions.form, 1),
                          out.vectors.get(), stream_);
            scatter_dense(half_norm.get(), run.positions, count, sizeof(float), out.half_norm.get(),
                          stream_);
        }
    }

    const FilterVectors& filter_;
    const VectorSource* source_;
    ProjectionChoices choices_;
    std::int64_t n_;
    cudaStream_t stream_;
    ProjectionSample sample_;
    ProjectionCosts costs_;
    CoordinateBytes bytes_;
    std::optional<ChosenColumns> best_;
};

}  // namespace

std::optional<ProjectedVectors> find_projection(const FilterVectors& filter, std::int64_t n,
                                                ProjectionChoices choices, cudaStream_t stream,
                                                const VectorSource* source) {
    return Projecting(filter, n, choices, stream, source).found();
}

}  // namespace kith::gpu
