// Points as a path prepares them, and the vectors of queries for the filter of all their coordinates.
#pragma once

#include <cuda_fp16.h>

#include <functional>
#include <memory>
#include <string>

#include "exact/report/progress.h"
#include "gpu/backend.h"
#include "gpu/filter/pass.h"
#include "gpu/points/points.h"
#include "gpu_arrays.h"
#include "kith/kith.h"

struct PreparedFilter {
    std::shared_ptr<const kith::gpu::Points> points;
    std::int64_t n, q;
    kith::gpu::DeviceRows rows;  // the queries
    kith::gpu::Buffer<__half> vectors;
    kith::gpu::Buffer<float> error;  // as filter_queries() has it
    kith::gpu::Buffer<std::uint8_t> unfit;

    PreparedFilter(const kith::MatrixView& of, const kith::MatrixView& queries, const std::string& metric,
                   kith::Path path, const std::string& isa = "")
        : n(of.rows), q(queries.rows) {
        kith::MetricSpec spec;
        spec.id = kith::metric_named(metric).id;
        spec.params.d = of.cols;
        kith::Plan plan;
        gpu_arrays::check(cudaGetDevice(&plan.device));
        plan.path = path;
        plan.isa = isa;
        plan.forced = true;
        plan.chunk_points = n;
        const std::function<bool(const kith::Progress&)> silent;
        kith::ProgressMeter progress(silent, 0);
        points = kith::gpu::prepare(of, spec, plan, false, nullptr, 1, progress);
        rows = kith::gpu::upload(queries, 0, q, false, nullptr);
        kith::gpu::measure(rows, points->metric, nullptr);
        vectors = kith::gpu::Buffer<__half>(q * form().width, nullptr);
        error = kith::gpu::Buffer<float>(2 * q, nullptr);
        unfit = kith::gpu::Buffer<std::uint8_t>(q, nullptr);
        points->metric.kernels->filter_queries(rows.prepared(), form(), vectors.get(), error.get(), unfit.get(),
                                               points->metric.params, nullptr);
    }
    const kith::gpu::Chunk& chunk() const { return points->resident; }
    const kith::gpu::FilterForm& form() const { return chunk().filter.form; }
    // All points for all queries.
    kith::gpu::FilterPass pass() const {
        kith::gpu::FilterPass pass;
        pass.queries = vectors.get();
        pass.points = chunk().filter.vectors.get();
        pass.half_norm = chunk().filter.half_norm.get();
        pass.q = q;
        pass.n = pass.count = n;
        pass.width = form().width;
        return pass;
    }
};
