// Variances in binary64; see variances.h.
#include "api/variances.h"

#include <fmt/format.h>

#include <cmath>

#include "api/guard.h"
#include "api/validate.h"
#include "exact/element.h"
#include "kith/error.h"
#include "kith/kith.h"

namespace kith::api {

namespace {

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorCode::invalid_argument, message);
}

// Values between two looks at the progress.
constexpr std::int64_t values_per_poll = 1 << 16;

// Calls use(row) for each row of finite coordinates; returns how many there are.
template <class Use>
std::int64_t each_finite_row(const MatrixView& v, ProgressMeter& progress, Use use) {
    std::vector<double> row(static_cast<std::size_t>(v.cols));
    std::int64_t count = 0;
    for (std::int64_t r = 0; r < v.rows; ++r) {
        if (r * v.cols % values_per_poll < v.cols) progress.poll("prepare");
        progress.throw_if_cancelled();
        bool finite = true;
        for (std::int64_t c = 0; c < v.cols; ++c) {
            double& value = row[static_cast<std::size_t>(c)];
            value = exact::load(v.data, v.type, exact::offset(v, r, c));
            finite &= std::isfinite(value);
        }
        if (!finite) continue;
        use(row);
        ++count;
    }
    return count;
}

}  // namespace

std::vector<double> given_variances(const MatrixView& view, std::int64_t d) {
    if (!(view.rows == d && view.cols == 1) && !(view.rows == 1 && view.cols == d))
        refuse(
            fmt::format("variances: {} x {}; expected {}, one for each column of the points", view.rows, view.cols, d));
    check_view(view, "variances");
    if (view.type != ElementType::f64) refuse(fmt::format("variances: elements are {}; expected f64", name(view.type)));
    std::vector<std::byte> storage;
    const MatrixView v = on_host(view, storage);
    std::vector<double> variances;
    for (std::int64_t i = 0; i < d; ++i) {
        const std::int64_t at = v.rows == d ? exact::offset(v, i, 0) : exact::offset(v, 0, i);
        variances.push_back(static_cast<const double*>(v.data)[at]);
        if (!(variances.back() > 0.0) || std::isinf(variances.back()))
            refuse(fmt::format("variances: number {} is {}; expected finite values above 0", i, variances.back()));
    }
    return variances;
}

std::vector<double> estimated_variances(const MatrixView& points, ProgressMeter& progress) {
    std::vector<std::byte> storage;
    const MatrixView v = on_host(points, storage);
    const auto d = static_cast<std::size_t>(v.cols);
    std::vector<double> mean(d, 0.0), variances(d, 0.0);
    const std::int64_t count = each_finite_row(v, progress, [&](const std::vector<double>& row) {
        for (std::size_t c = 0; c < d; ++c) mean[c] += row[c];
    });
    if (count < 2) refuse(fmt::format("points: {} finite rows; estimating the variances expected at least 2", count));
    for (double& m : mean) m /= static_cast<double>(count);
    each_finite_row(v, progress, [&](const std::vector<double>& row) {
        for (std::size_t c = 0; c < d; ++c) variances[c] += (row[c] - mean[c]) * (row[c] - mean[c]);
    });
    for (std::size_t c = 0; c < d; ++c) {
        variances[c] /= static_cast<double>(count - 1);
        if (!(variances[c] > 0.0) || std::isinf(variances[c]))
            refuse(fmt::format("points: column {} has variance {}; seuclidean expected one above 0, give variances", c,
                               variances[c]));
    }
    return variances;
}

std::vector<double> deviations(std::vector<double> variances) {
    for (double& v : variances) v = std::sqrt(v);
    return variances;
}

}  // namespace kith::api

namespace kith {

std::vector<double> variances(const MatrixView& points) {
    return api::guarded([&] {
        api::check_view(points, "points");
        const std::function<bool(const Progress&)> silent;
        ProgressMeter progress(silent, 0);
        return api::estimated_variances(points, progress);
    });
}

}  // namespace kith
