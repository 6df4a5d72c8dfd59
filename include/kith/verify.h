// Whether neighbours that somebody found are the true ones: verify(), of a set of points among themselves
// verify_graph().
//
//     kith::Verification v = kith::verify(points, queries, kith::search(points, queries, 10));
//     v.is_exact();   v.wrong_rows;   v.first_wrong.front().why;
//
// The neighbours are searched for again and compared: ids in order, and distances bit by bit where there are any. What
// search() and graph() return is exact by this, whatever the points hold. An equally near neighbour in the place of
// another is a tie: exact up to that. Near is what the canonical order says, before a root is taken and rounded
// (docs/exactness.md, sections 1 and 2).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kith/export.h"
#include "kith/types.h"

namespace kith {

// What is to be verified, a row of k neighbours for each query, in host memory. The views must stay valid.
struct FoundNeighbors {
    MatrixView ids{};        // q x k of i64, row-major
    MatrixView distances{};  // q x k of f32 or f64, row-major; without data they are not compared

    FoundNeighbors() = default;
    FoundNeighbors(const MatrixView& ids_, const MatrixView& distances_ = {})  // NOLINT: verify(points, queries, ids)
        : ids(ids_), distances(distances_) {}
    // As search() and graph() return them.
    KITH_EXPORT FoundNeighbors(const Neighbors& found);  // NOLINT: verify(points, queries, search(points, queries, 10))
};

struct VerifyOptions {
    // The metric, and how to search: device, memory, threads, path, isa, progress. f64 and include_self are not read.
    Options search{};
    std::int64_t sample = 0;  // rows that are looked at, evenly spaced; 0: all
    // verify_graph(): whether each row begins with its own point, as with Options::include_self; nothing: it does where
    // most rows do that begin with a point.
    std::optional<bool> include_self{};
    // The distances were computed by others, who may round differently: they are held to a thousandth of the largest
    // distance that was looked at instead of to bits.
    bool distances_of_others = false;
    std::int64_t described = 10;  // wrong rows that Verification::first_wrong describes
};

// How distances were compared.
enum class DistancesCompared : std::uint8_t {
    none,    // there were none
    f32,     // bit by bit, the canonical distance rounded to f32; of f64 that are all values of f32, too
    f64,     // bit by bit
    nearly,  // VerifyOptions::distances_of_others
};
// "not compared", "f32", "f64", "nearly".
KITH_EXPORT const char* name(DistancesCompared compared);

struct WrongRow {
    std::int64_t row = 0;
    std::int64_t place = 0;  // of the first fault, from 0
    std::string why;
    std::vector<double> distances;  // the canonical ones of the ids that were found; NaN where there is no such point
    std::vector<std::int64_t> expected_ids;
    std::vector<double> expected_distances;
};

struct Verification {
    std::int64_t rows = 0;      // that were looked at
    std::int64_t all_rows = 0;  // that there are
    std::int64_t k = 0;
    bool include_self = false;  // the rows are taken to begin with their own point, which k counts
    // Rows of the right neighbours in order; of others that are as near; and of anything else: wrong neighbours, wrong
    // order, wrong distances.
    std::int64_t exact = 0, tied = 0, wrong = 0;
    std::int64_t only_distances = 0;       // wrong rows whose neighbours are right
    std::vector<std::int64_t> wrong_rows;  // their numbers, ascending
    std::vector<WrongRow> first_wrong;
    std::int64_t neighbours = 0;  // that exist, own points left out
    std::int64_t hits = 0;        // of them, found: at any place of their row, or as near as the last

    DistancesCompared compared = DistancesCompared::none;
    std::int64_t distances = 0;    // that were compared; of ids that are no points none is
    std::int64_t different = 0;    // of them; with `nearly` those that are too far off
    std::int64_t nan = 0;          // of the different ones, NaN
    std::int64_t largest_ulp = 0;  // between a distance and the canonical one
    double largest_share = 0;      // the same, of the canonical distance
    Report report;                 // of the search that was compared with

    bool is_exact() const { return wrong == 0; }  // up to ties
    double recall() const { return neighbours > 0 ? static_cast<double>(hits) / static_cast<double>(neighbours) : 1.0; }
    // "exact", "exact up to ties listed in another order" or "NOT exact".
    const char* verdict() const {
        return wrong > 0 ? "NOT exact" : tied > 0 ? "exact up to ties listed in another order" : "exact";
    }
};

// points n x d, queries q x d: as search() takes them. A row of a query with a NaN coordinate has no neighbours: ids -1
// at infinity. Complexity: that of a search for k neighbours. Throws invalid_argument (shapes and types that do not
// belong together among them; ids may be any numbers), device, out_of_memory, cancelled.
KITH_EXPORT Verification verify(const MatrixView& points, const MatrixView& queries, const FoundNeighbors& found,
                                const VerifyOptions& options = {});
// Of the points among themselves: row i is that of point i, which is its own neighbour nowhere but at the beginning.
KITH_EXPORT Verification verify_graph(const MatrixView& points, const FoundNeighbors& found,
                                      const VerifyOptions& options = {});

}  // namespace kith
