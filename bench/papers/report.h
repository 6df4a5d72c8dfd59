// Measured cells, printed next to the paper's figures and as a document.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "document.h"
#include "papers/table.h"

namespace kith::bench::papers {

struct Cell {
    Steps steps;                 // of the median run, or means
    double deviation = no_time;  // of the total, where it is a mean
    double least = no_time, most = no_time;
    int runs = 0;
    double same_ids = no_time;  // share of the neighbours that are kith's, in the same place
    double load = no_time;      // processes that ran or waited, on average over the minute before
};

using Key = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;  // method, n, q, d, k
Key key_of(const std::string& method, const Shape& shape);

struct Results {
    PaperTable table;
    std::string device = {};
    bool quick = false, mean = false;
    std::map<Key, Cell> cells = {};
    std::map<Key, std::string> left_out = {};         // why
    std::map<std::string, std::string> missing = {};  // method: why it did not run

    const Cell* find(const std::string& method, const Shape& shape) const;
};

void print_head(const Results& results);
void print(const Results& results, const Panel& panel);
void print_foot(const Results& results);

Json to_json(const Results& results);
// Cells of a document that to_json() made. Throws bad_file.
std::map<Key, Cell> cells_of(const Json& document, const std::string& file);

}  // namespace kith::bench::papers
