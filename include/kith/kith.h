// START HERE. Exact k-nearest neighbours: search(), graph(), select(); range search: radius() (radius.h); for repeated
// searches, Index (index.h).
//
//     std::vector<float> points = ..., queries = ...;             // row-major
//     kith::Neighbors nn = kith::search(kith::view(points.data(), n, d), kith::view(queries.data(), q, d), 10);
//     nn.ids[i * 10 + j];   nn.distances[i * 10 + j];              // query i's j-th nearest point
//
// Options::device may name several GPUs of this host, as "cuda:0,1" or "cuda:all". They share a search, a graph or an
// Index, and the others finish the work of a GPU that fails (docs/guide/multi-gpu.md).
//
// The answer is a function of the inputs alone: the same ids and the same bits of every distance on any device, with
// any thread count, path or memory budget (docs/contract.md). Every function throws kith::Error and is safe to call
// from several threads at once.
#pragma once

#include "kith/error.h"
#include "kith/export.h"
#include "kith/index.h"
#include "kith/plan.h"
#include "kith/radius.h"
#include "kith/types.h"
#include "kith/version.h"

namespace kith {

// The k nearest points of each query.
//   points   n x d, queries q x d: each of any element type, layout and memory (host or one CUDA device); d equal.
//            n and q may be 0, as in all functions: without points every neighbour is missing, without queries the
//            result is empty. d is at least 1.
//   k        1 <= k; more than the eligible points gives missing neighbours.
// Complexity: n q d steps of the metric, O(memory budget) workspace; n x q is never stored. A point with a NaN
// coordinate is never returned; a query with one has no neighbours. Throws invalid_argument, device, out_of_memory,
// cancelled.
KITH_EXPORT Neighbors search(const MatrixView& points, const MatrixView& queries, std::int64_t k,
                             const Options& options = {});

// Likewise, into the caller's memory (host or device): `out` holds q x k ids and distances.
KITH_EXPORT Report search_into(const MatrixView& points, const MatrixView& queries, std::int64_t k,
                               const Options& options, const NeighborsView& out);

// Each point's k nearest among the other points, n x k: row i never holds id i; duplicates of point i are kept. With
// Options::include_self row i begins with id i, at its distance to itself even if another point is as near. Its k - 1
// nearest others follow: the form that UMAP and scikit-learn expect. A point with a NaN coordinate has no neighbours,
// itself included.
KITH_EXPORT Neighbors graph(const MatrixView& points, std::int64_t k, const Options& options = {});
KITH_EXPORT Report graph_into(const MatrixView& points, std::int64_t k, const Options& options,
                              const NeighborsView& out);

// The k smallest (Options::largest: largest) values of each row of a matrix of f32, f64, f16 or bf16, with their column
// indices, rows x k. The order is (value, smaller index), NaN last; -0 and +0 are equal. select() returns values of f64
// in distances64, all others in distances; select_into() writes elements of the matrix' own type. Rows may have
// different lengths (Options::lengths), and a GPU's work may be left on the caller's stream (Options::enqueue).
//   0 <= k <= cols, else invalid_argument. Rows and columns may be 0.
KITH_EXPORT Neighbors select(const MatrixView& distances, std::int64_t k, const Options& options = {});
KITH_EXPORT Report select_into(const MatrixView& distances, std::int64_t k, const Options& options,
                               const NeighborsView& out);

// The default d x d matrix of mahalanobis, for Metric::inverse_covariance: the inverse of the sample covariance
// (divisor n - 1) of the rows without NaN and infinity. Uses only threads and progress of the options. Throws
// invalid_argument if the covariance is singular.
KITH_EXPORT std::vector<double> inverse_covariance(const MatrixView& points, const Options& options = {});
// The default d variances of seuclidean, for Metric::variances: of the same rows, divisor n - 1. Throws
// invalid_argument if one is not a normal number above 0.
KITH_EXPORT std::vector<double> variances(const MatrixView& points, const Options& options = {});

// Properties of this build and this machine, as human-readable text: instruction sets, devices, metrics, paths.
KITH_EXPORT std::string build_info();
// The selectors that Options::selector accepts, one per line, as human-readable text: name, range of k, description.
KITH_EXPORT std::string selectors_help();

}  // namespace kith
