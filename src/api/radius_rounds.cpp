// All points within a radius by searches for the k nearest: k grows for the queries whose last neighbour may be within.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <numeric>

#include "api/host_view.h"
#include "api/radius.h"
#include "api/validate.h"
#include "exact/element.h"

namespace kith::api {

namespace {

// Neighbours of a search, and of rows that wait to be handed on, unless Options::memory says.
constexpr std::int64_t most_cells = 4 << 20;
// Of a neighbour: as a search returns it, in its row, and as it is handed on.
constexpr std::int64_t cell_bytes = 3 * (sizeof(std::int64_t) + sizeof(double));
constexpr std::int64_t growth = 4;
// Reported distances rise with the order but for roundings.
constexpr double rounding = 0x1p-30;

// Queries whose k nearest are to be found.
struct Round {
    std::vector<std::int64_t> numbers;  // ascending
    std::int64_t k;
};

struct Row {
    std::vector<std::int64_t> ids;
    std::vector<double> distances;
    std::int64_t count = 0;
};

// Rows of a view on the host, one after the other.
std::vector<std::byte> gathered(const MatrixView& view, const std::vector<std::int64_t>& numbers) {
    const auto element = static_cast<std::int64_t>(size_of(view.type));
    std::vector<std::byte> rows(numbers.size() * static_cast<std::size_t>(view.cols * element));
    std::byte* out = rows.data();
    for (const std::int64_t i : numbers) {
        for (std::int64_t j = 0; j < view.cols; ++j, out += element)
            std::memcpy(out, static_cast<const std::byte*>(view.data) + exact::offset(view, i, j) * element,
                        static_cast<std::size_t>(element));
    }
    return rows;
}

class Rounds {
public:
    Rounds(const SearchRows& search, std::int64_t n, const MatrixView& queries, const MetricSpec& metric,
           const RadiusCall& call)
        : search_(search),
          n_(n),
          queries_(queries),
          call_(call),
          radii_(radii_of(call.r, queries.rows, metric)),
          options_(call.options),
          cells_(call.options.memory > 0 ? std::clamp<std::int64_t>(call.options.memory / cell_bytes, 1, most_cells)
                                         : most_cells) {
        const bool user = metric.id == MetricId::formula || metric.id == MetricId::functor;
        similarity_ = !user && traits_of(metric.id).similarity;
        graph_ = !call.queries && !call.options.include_self;
        options_.f64 = true;
        options_.include_self = false;
    }

    Report run(std::int64_t first_k) {
        const auto start = std::chrono::steady_clock::now();
        const std::int64_t q = queries_.rows, k = std::min(first_k, n_);
        first_k_ = k;
        const std::int64_t block = std::clamp<std::int64_t>(cells_ / k, 1, q);
        for (std::int64_t first = 0; first < q; first += block) {
            const std::int64_t count = std::min(block, q - first);
            std::vector<std::int64_t> numbers(static_cast<std::size_t>(count));
            std::iota(numbers.begin(), numbers.end(), first);
            rows_.assign(numbers.size(), {});
            first_ = handed_on_ = first;
            // The next is the last; all queries of one are before those of the round below it.
            std::vector<Round> rounds;
            rounds.push_back({std::move(numbers), k});
            while (!rounds.empty()) {
                search_some(rounds);
                if (rounds.empty()) hand_on(first + count);
                else if (held_ >= cells_) hand_on(rounds.back().numbers.front());
            }
        }
        report_.queries = q;
        report_.pairs = static_cast<double>(q) * static_cast<double>(n_);
        report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        return report_;
    }

private:
    bool within(double distance, double r) const {
        if (similarity_) return call_.r.open ? distance > r : distance >= r;
        return call_.r.open ? distance < r : distance <= r;
    }
    // Whether nothing after a neighbour at that distance is within.
    bool beyond(double distance, double r) const {
        if (std::isinf(r)) return false;
        return similarity_ ? distance < r - std::abs(r) * rounding : distance > r + std::abs(r) * rounding;
    }

    // The rows of the first queries of the last round; of those that need more neighbours a round of their own.
    void search_some(std::vector<Round>& rounds) {
        const std::int64_t k = rounds.back().k;
        std::vector<std::int64_t>& numbers = rounds.back().numbers;
        const std::int64_t room = std::max(cells_ - held_, cells_ / 8);
        const auto count = std::clamp<std::int64_t>(room / k, 1, static_cast<std::int64_t>(numbers.size()));
        const std::vector<std::int64_t> some(numbers.begin(), numbers.begin() + count);
        numbers.erase(numbers.begin(), numbers.begin() + count);
        const bool at_first = k == first_k_;
        if (numbers.empty()) rounds.pop_back();
        const std::vector<std::byte> rows = gathered(queries_, some);
        const MatrixView view{rows.data(), count, queries_.cols, queries_.cols, queries_.type};
        std::vector<std::int64_t> ids(some.size() * static_cast<std::size_t>(k));
        std::vector<double> distances(ids.size());
        const Report report = search_(view, k, options_, {ids.data(), distances.data(), host_memory});
        if (report_.path.empty()) report_ = report, report_.certified = report_.retried = report_.scanned = 0;
        else report_.candidates += report.candidates;
        std::vector<std::int64_t> open;
        for (std::int64_t i = 0; i < count; ++i) {
            const std::int64_t number = some[static_cast<std::size_t>(i)];
            if (!take(number, ids.data() + i * k, distances.data() + i * k, k)) open.push_back(number);
        }
        (at_first ? report_.certified : report_.retried) += count - static_cast<std::int64_t>(open.size());
        if (open.empty()) return;
        call_.progress.add(-static_cast<double>(n_) * static_cast<double>(open.size()));
        rounds.push_back({std::move(open), std::min(growth * k, n_)});
    }

    // False where more points may be within.
    bool take(std::int64_t number, const std::int64_t* ids, const double* distances, std::int64_t k) {
        const double r = radii_[static_cast<std::size_t>(number)];
        if (k < n_ && ids[k - 1] >= 0 && !beyond(distances[k - 1], r)) return false;
        Row& row = rows_[static_cast<std::size_t>(number - first_)];
        for (std::int64_t j = 0; j < k && ids[j] >= 0; ++j) {
            if (!within(distances[j], r) || (graph_ && ids[j] == number)) continue;
            ++row.count;
            if (call_.counts) continue;
            row.ids.push_back(ids[j]);
            row.distances.push_back(distances[j]);
            ++held_;
        }
        return true;
    }

    // Rows up to that one, which are complete.
    void hand_on(std::int64_t end) {
        const std::int64_t begin = handed_on_;
        handed_on_ = end;
        if (begin == end) return;
        std::vector<std::int64_t> offsets{0}, ids;
        std::vector<double> distances64;
        for (std::int64_t i = begin; i < end; ++i) {
            Row& row = rows_[static_cast<std::size_t>(i - first_)];
            if (call_.counts) call_.counts[i] = row.count;
            offsets.push_back(offsets.back() + row.count);
            ids.insert(ids.end(), row.ids.begin(), row.ids.end());
            distances64.insert(distances64.end(), row.distances.begin(), row.distances.end());
            held_ -= static_cast<std::int64_t>(row.ids.size());
            row = {};
        }
        if (call_.counts) return;
        const bool f64 = call_.options.f64;
        const std::vector<float> distances(distances64.begin(), f64 ? distances64.begin() : distances64.end());
        (*call_.take)({begin, end - begin, offsets.data(), ids.data(), f64 ? nullptr : distances.data(),
                       f64 ? distances64.data() : nullptr});
    }

    const SearchRows& search_;
    std::int64_t n_;
    const MatrixView& queries_;
    const RadiusCall& call_;
    std::vector<double> radii_;
    Options options_;
    std::int64_t cells_, first_k_ = 0;
    bool similarity_ = false, graph_ = false;
    std::int64_t first_ = 0, handed_on_ = 0;  // of the block; rows before the other have been handed on
    std::int64_t held_ = 0;                   // neighbours in rows_
    std::vector<Row> rows_;
    Report report_;
};

}  // namespace

Report radius_by_rounds(const SearchRows& search, std::int64_t n, const MatrixView& queries, const MetricSpec& metric,
                        const RadiusCall& call, std::int64_t first_k) {
    std::vector<std::byte> storage;
    const MatrixView host = on_host(queries, storage);
    return Rounds(search, n, host, metric, call).run(first_k);
}

}  // namespace kith::api
