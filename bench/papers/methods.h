// The columns of the papers' tables: methods by name, each timed on the same data.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "arrays.h"
#include "kith/types.h"

namespace kith::bench::papers {

inline constexpr double no_time = std::numeric_limits<double>::quiet_NaN();

struct Shape {
    std::int64_t n = 0;  // points
    std::int64_t q = 0;  // queries
    std::int64_t d = 0;
    std::int64_t k = 0;

    bool operator==(const Shape&) const = default;
};

// One run in seconds: of processor time where the method takes one core, for other work on the machine does not count
// there, else of the clock. Steps are NaN where the method does not tell them apart.
struct Steps {
    double total = no_time;
    double wall = no_time;  // the same by the clock
    double distance = no_time, sort = no_time, copy = no_time;
    double prepare = no_time;  // of the total: building the tree
};

// Points and queries of a shape, uniform in [0, 1)^d, of fixed seeds; host memory. Neighbours as kith finds them.
struct Inputs {
    Shape shape;
    Rows points, queries;
    std::vector<std::int64_t> ids;  // q x k, sqeuclidean

    Inputs(const Shape& shape, const Options& options);
};

struct Method {
    std::string name;  // what it is called in tables and on the command line
    std::string what;  // for a person to read
    bool gpu = false;
    std::string (*missing)();  // "", or why it cannot run here
    std::function<Steps(const Inputs& data, const Options& options, std::int64_t* ids)> run;
};

const std::vector<Method>& methods();
// One of these, or of a family. "path:NAME" and "copies:NAME": a search by that path of kith::search, from device
// memory to device memory, without and with the copies from and to host memory. "steps:SELECTOR": kith::distances, then
// kith::select by that selector of a GPU, and the copies. "garcia:SELECTOR": Garcia's kernel, its matrix by column,
// then that selector, and the copies. "sort:NAME": a truncated sort of distances on one core, without the distances.
// Throws invalid_argument with the list of names.
Method method_named(const std::string& name);

}  // namespace kith::bench::papers
