// Graphs in grids (path "kato") on devices that a test names, beside those of a full scan.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "api/check/validate.h"
#include "api/wide_search.h"
#include "papers/kato/kato.h"
#include "same_answer.h"
#include "search_cases.h"

namespace grids {

// As kith::graph() has them.
inline kith::Neighbors graph(const kith::MatrixView& given, std::int64_t k, const kith::Options& options,
                             const kith::api::KatoProbe& probe) {
    using namespace kith;
    ProgressMeter progress(options.progress, 0);
    const MetricSpec metric = api::validate_metric(options.metric, given, 1, progress);
    std::vector<double> storage;
    const MatrixView points = api::scaled_rows(given, metric, 1, progress, storage);
    const api::KeyRange range = api::key_range(metric, api::extent_of(points, metric, 1, progress));
    return api::collect(points.rows, k, options.f64, [&](const NeighborsView& out) {
        return api::search_in_range({metric, points, points, k, true, range, options, progress, out},
                                    [&](std::int64_t searched, const Options& as, const NeighborsView& into) {
                                        return api::kato_graph(points, metric, searched, as, progress, into, probe);
                                    });
    });
}

// What devices and what side of a grid a case takes.
using Choice = std::function<kith::api::KatoProbe(std::uint64_t turn)>;

// A metric on every kind of data and size, in turn of every element type, layout and precision, with the points
// themselves and without: the bits of the CPU's full scan.
inline void same_as_scan(const std::string& metric, const std::vector<search_cases::Size>& sizes, const char* device,
                         const Choice& choose) {
    std::uint64_t turn = metric.size();
    for (const char* data : {"duplicates", "all_equal", "gaussian", "nan_rows", "infinities", "offset", "denormals"}) {
        for (const search_cases::Size& size : sizes) {
            const auto type = arrays::element_types[turn % 6];
            const auto all = variants(metric, size.d, type);
            const auto c =
                search_cases::make_case(all[turn % all.size()], data, size, type, type, arrays::shapes[turn % 3], turn);
            kith::Options options = search_cases::options_of("cpu", c.variant, {"exact", "", 1, false}, turn % 2);
            options.include_self = turn % 5 == 0;
            const kith::Neighbors want = kith::graph(c.points.view, c.k, options);
            options.path.clear();
            options.device = device;
            const kith::api::KatoProbe probe = choose(turn);
            const kith::Neighbors got = graph(c.points.view, c.k, options, probe);
            ASSERT_TRUE(same_answer(want, got))
                << c.label << ", " << probe.devices.size() << " devices, grid " << probe.grid;
            EXPECT_EQ("kato", got.report.path);
            EXPECT_EQ(c.points.view.rows, got.report.scanned + got.report.certified) << c.label;
            ++turn;
        }
    }
}

// Of three devices one fails, then all: what they leave is done by the others, then by the CPU, and the report says so.
inline void same_where_devices_fail(const std::vector<std::string>& three, const char* data,
                                    const search_cases::Size& size, const char* device) {
    using kith::ElementType;
    const auto c = search_cases::make_case(variants("hellinger", size.d, ElementType::f32).front(), data, size,
                                           ElementType::f32, ElementType::f32, arrays::Shape::dense, 3);
    const kith::Options options = search_cases::options_of(device, c.variant, {"", "", 1, false}, false);
    const kith::Neighbors want = kith::graph(c.points.view, c.k, options);
    for (const int failing : {1, 3}) {
        kith::api::KatoProbe probe{three, size.n / 9, {}};
        probe.before = [&](int part) {
            if (part < failing) throw kith::Error(kith::ErrorCode::device, "device: it fell off the bus");
        };
        const kith::Neighbors got = graph(c.points.view, c.k, options, probe);
        EXPECT_TRUE(same_answer(want, got));
        ASSERT_FALSE(got.report.fallbacks.empty());
        EXPECT_NE(std::string::npos, got.report.fallbacks.front().why.find("fell off the bus"));
    }
}

}  // namespace grids
