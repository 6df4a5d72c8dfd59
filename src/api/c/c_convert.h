// Shared code of the C interface: conversion of plain structs to C++ and back, and of exceptions to
// codes.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "api/guard.h"
#include "exact/refuse.h"
#include "kith/c.h"
#include "kith/functor.h"
#include "kith/kith.h"
#include "machine/float_state.h"

namespace kith::c {

// Stores the message for kith_last_error() and returns the code.
int fail(int code, const char* message) noexcept;

// Runs f and lets no exception escape. An allocation failure outside the library's calls is
// reported like one of the library's.
template <class F>
int guarded(F f) noexcept {
    const machine::FloatState state;
    try {
        api::guarded(f);
        return KITH_OK;
    } catch (const Error& e) {
        return fail(static_cast<int>(e.code()), e.what());
    } catch (const std::bad_alloc&) {
        return fail(KITH_OUT_OF_MEMORY, "out of host memory");
    } catch (const std::exception& e) {
        return fail(KITH_INTERNAL, e.what());
    } catch (...) {
        return fail(KITH_INTERNAL, "unknown exception");
    }
}

inline void require(const void* pointer, const char* what) {
    if (!pointer) refuse("{}: null; expected a pointer", what);
}

inline ElementType element_type(int32_t type, const std::string& what) {
    if (type < KITH_F32 || type > KITH_I64)
        refuse("{}: {}; expected one of enum kith_type", what, type);
    return static_cast<ElementType>(type);
}

inline MatrixView matrix(const kith_matrix* m, const char* what) {
    require(m, what);
    const ElementType type = element_type(m->type, std::string(what) + ".type");
    if (m->layout != KITH_ROW_MAJOR && m->layout != KITH_COLUMN_MAJOR)
        refuse("{}.layout: {}; expected one of enum kith_layout", what, m->layout);
    const bool row_major = m->layout == KITH_ROW_MAJOR;
    return {m->data,  m->rows,
            m->cols,  m->stride ? m->stride : (row_major ? m->cols : m->rows),
            type,     row_major ? Layout::row_major : Layout::column_major,
            m->device};
}

// An optional matrix that is given. Without elements it gets a non-null data pointer, so that it
// does not count as left out.
inline MatrixView parameter(const kith_matrix* m, const char* what) {
    static constexpr double nothing = 0;
    MatrixView view = matrix(m, what);
    if (!view.data && (view.rows == 0 || view.cols == 0)) view.data = &nothing;
    return view;
}

inline Radius radius_of(double r, const kith_matrix* radii, int32_t open) {
    Radius radius(r);
    if (radii) radius.each = parameter(radii, "radii");
    radius.open = open != 0;
    return radius;
}

inline NeighborsView neighbors(const kith_neighbors* out) {
    require(out, "out");
    return {out->ids, out->distances, out->device};
}

inline MetricId metric_id(int32_t metric) {
    if (metric == KITH_METRIC_formula) return MetricId::formula;
    if (metric == KITH_METRIC_functor) return MetricId::functor;
    if (metric < 0 || metric >= static_cast<int>(MetricId::formula))
        refuse("options.metric: {}; expected one of enum kith_metric", metric);
    return static_cast<MetricId>(metric);
}

inline std::string text(const char* s) {
    return s ? s : "";
}

// The caller's options; fields that its version does not know, or all if NULL, keep their defaults.
inline kith_options complete(const kith_options* given) {
    kith_options o;
    kith_options_init(&o, sizeof(o));
    if (!given) return o;
    // The fields of the first version are all required.
    if (given->struct_size < offsetof(kith_options, progress_user) + sizeof(o.progress_user))
        refuse("options.struct_size: {}; expected options filled by kith_options_init()",
               given->struct_size);
    std::memcpy(&o, given, std::min(given->struct_size, sizeof(o)));
    return o;
}

// The C++ options, and the functor that they point to. The object must not be copied or moved.
struct Converted {
    FunctorMetric functor;
    Options options;

    explicit Converted(const kith_options* given) {
        if (!given) return;
        const kith_options o = complete(given);
        Metric& m = options.metric;
        if (o.metric != KITH_METRIC_default) m = metric_id(o.metric);
        m.p = o.p;
        m.packed_bits = o.packed_bits != 0;
        if (o.inverse_covariance)
            m.inverse_covariance = parameter(o.inverse_covariance, "inverse_covariance");
        if (o.variances) m.variances = parameter(o.variances, "variances");
        m.formula = text(o.formula);
        m.start = o.start;
        if (o.functor) {
            if (o.functor->name) functor.name = o.functor->name;
            functor.host = o.functor->host;
            functor.device = o.functor->device;
            functor.state = o.functor->state;
            functor.start = o.functor->start;
            m.functor = &functor;
        }
        options.largest = o.largest != 0;
        options.sorted = o.sorted != 0;
        options.f64 = o.f64 != 0;
        options.include_self = o.include_self != 0;
        if (o.device) options.device = o.device;
        options.memory = o.memory;
        options.threads = o.threads;
        options.path = text(o.path);
        options.selector = text(o.selector);
        options.isa = text(o.isa);
        options.order = text(o.order);
        if (o.lengths) options.lengths = parameter(o.lengths, "lengths");
        options.enqueue = o.enqueue != 0;
        options.stream = o.stream;
        if (o.progress) {
            options.progress = [callback = o.progress, user = o.progress_user](const Progress& p) {
                const kith_progress progress{p.done, p.total, p.seconds, p.stage};
                return callback(&progress, user) != 0;
            };
        }
    }
    Converted(const Converted&) = delete;
    Converted& operator=(const Converted&) = delete;
};

inline void fill(kith_report* report, const Report& r) {
    if (!report) return;
    kith_report all{};
    all.struct_size = report->struct_size;
    std::snprintf(all.path, sizeof(all.path), "%s", r.path.c_str());
    std::snprintf(all.device, sizeof(all.device), "%s", r.device.c_str());
    all.queries = r.queries;
    all.certified = r.certified;
    all.retried = r.retried;
    all.scanned = r.scanned;
    all.candidates = r.candidates;
    all.pairs = r.pairs;
    all.prepare_seconds = r.prepare_seconds;
    all.seconds = r.seconds;
    all.device_seconds = r.device_seconds;
    all.threads = r.threads;
    all.attempts = static_cast<int32_t>(r.trace.size());
    for (std::size_t i = 0; i < std::min<std::size_t>(r.trace.size(), KITH_MOST_ATTEMPTS); ++i) {
        const TraceEntry& from = r.trace[i];
        kith_attempt& to = all.trace[i];
        std::snprintf(to.strategy, sizeof(to.strategy), "%s", from.strategy.c_str());
        std::snprintf(to.cause, sizeof(to.cause), "%s", from.cause.c_str());
        to.queries = from.queries;
        to.certified = from.certified;
        to.left = from.left;
        to.seconds = from.seconds;
    }
    std::snprintf(all.selector, sizeof(all.selector), "%s", r.selector.c_str());
    std::memcpy(report, &all, std::min(all.struct_size, sizeof(all)));
}

inline void check(const kith_report* report) {
    if (report && report->struct_size < sizeof(kith_report::struct_size))
        refuse("report.struct_size: {}; expected sizeof(kith_report)", report->struct_size);
}

}  // namespace kith::c
