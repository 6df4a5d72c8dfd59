// A contact sheet: queries with their nearest images next to them, as a PNG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kith/output.h"

namespace kith::cli {

struct SheetCell {
    const std::uint8_t* pixels;  // side x side grey values, not owned
    std::string caption;
    bool right;  // of a neighbour: its label is the query's
};

// A query, its neighbours by distance, and what they say together.
struct SheetRow {
    SheetCell query;
    std::vector<SheetCell> neighbours;
    std::string verdict;
    bool right;
};

// Writes the rows, of one number of neighbours. Throws bad_file.
void write_sheet(FileWriter& file, const std::string& title, const std::vector<SheetRow>& rows, int side);

}  // namespace kith::cli
