// The stages behind a pass along few directions (gpu/filter/rescore/reread.h), as tests ask them.
#pragma once

#include <limits>
#include <vector>

#include "filter_values.h"
#include "gpu/filter/rescore/reread.h"
#include "gpu/points/pca/projection.h"
#include "gpu_arrays.h"
#include "prepared_filter.h"

// Rows of a filter's queries, room for as many candidates as there are points, and what is left of these.
class Stages {
public:
    // The candidates of each query, `n` places apart.
    struct Listed {
        std::vector<kith::gpu::Candidate> candidates;
        std::vector<std::int32_t> counts;
    };

    Stages(const kith::gpu::ProjectedVectors& projected, const PreparedFilter& filter) : q_(filter.q), n_(filter.n) {
        const kith::gpu::Directions& directions = projected.directions;
        const kith::gpu::FilterVectors& all = filter.chunk().filter;
        for (int stage = 0; stage < directions.stages; ++stage) {
            const auto at = static_cast<std::size_t>(stage);
            const kith::gpu::FurtherColumns& columns = directions.further[stage];
            rows[at] = kept_.emplace_back(q_ * columns.query_bytes(), nullptr).get();
            task_.stage[stage] = {columns, rows[at], projected.further[at].get()};
        }
        task_.room = n_;
        task_.queries = filter.vectors.get();
        task_.points = all.vectors.get();
        task_.half_norm = all.half_norm.get();
        task_.width = all.form.width;
        task_.stages = directions.stages;
        task_.sum_unit = static_cast<float>(directions.bytes.step * directions.bytes.step);
        const std::int64_t room = kith::gpu::left_room(q_);
        left_ = kith::gpu::Buffer<std::int32_t>(room + kith::gpu::LongerLists::words(q_), nullptr);
        task_.left = left_.get();
        task_.longer = reinterpret_cast<kith::gpu::LongerLists*>(left_.get() + room);
        lists_.q = q_;
        lists_.query_error = filter.error.get();
        lists_.point_error = all.point_error.get();
        lists_.growth = all.form.growth;
        lists_.ceiling = all.form.ceiling;
        lists_.farthest = all.form.farthest;
    }

    kith::gpu::FurtherRows rows{};  // to be projected to

    // Rows are read part by part from now on, of points [first, end), which candidates are among.
    void read_by_parts(std::int64_t part, std::int64_t first, std::int64_t end) {
        task_.part = part;
        task_.first = first;
        task_.end = end;
    }

    // What is left of candidates that are within `threshold`, and by all coordinates within `of_all`; +inf where null.
    // `before`: what the lists have before, or null. `order`: that of the thresholds which `of_all` becomes.
    Listed left(kith::gpu::Candidate* found, std::int32_t* counts, const float* threshold, float* of_all,
                const Listed* before = nullptr, int order = 0) {
        using kith::gpu::Buffer;
        const Buffer<kith::gpu::Candidate> listed(q_ * n_, nullptr);
        Buffer<std::int32_t> listed_counts(q_, nullptr);
        Buffer<std::uint8_t> overflowed(q_, nullptr);
        const Buffer<float> highest(q_, nullptr);
        const std::vector<float> infinite(static_cast<std::size_t>(q_), std::numeric_limits<float>::infinity());
        gpu_arrays::check(
            cudaMemcpy(highest.get(), infinite.data(), infinite.size() * sizeof(float), cudaMemcpyHostToDevice));
        listed_counts.clear_to(0);
        if (before) {
            gpu_arrays::check(cudaMemcpy(listed.get(), before->candidates.data(),
                                         before->candidates.size() * sizeof(kith::gpu::Candidate),
                                         cudaMemcpyHostToDevice));
            gpu_arrays::check(cudaMemcpy(listed_counts.get(), before->counts.data(),
                                         before->counts.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice));
        }
        overflowed.clear_to(0);
        task_.found = found;
        task_.counts = counts;
        task_.threshold = threshold;
        task_.order = order;
        lists_.capacity = n_;
        lists_.candidates = listed.get();
        lists_.counts = listed_counts.get();
        lists_.overflowed = overflowed.get();
        lists_.threshold = of_all ? of_all : highest.get();
        kith::gpu::reread(lists_, task_, nullptr);
        return {filter_values::to_host(listed.get(), q_ * n_), filter_values::to_host(listed_counts.get(), q_)};
    }

private:
    std::int64_t q_, n_;
    std::vector<kith::gpu::Buffer<char>> kept_;
    kith::gpu::RereadTask task_;
    kith::gpu::Buffer<std::int32_t> left_;
    kith::gpu::CandidateLists lists_;
};
