// Results in words: numbers, tables, reports. Results go to standard output, everything about them to standard error.
#pragma once

#include <cstdint>
#include <string>

#include "kith/stopwatch.h"
#include "kith/types.h"

namespace kith::cli {

// 1234567 as "1,234,567".
std::string grouped(std::int64_t number);
// "261 M distances/s"; three significant digits.
std::string pair_rate(double pairs, double seconds);
// "0.52 ms", "1.23 s", "2:05", "1:02:05".
std::string duration(double seconds);
// ", 1.23 s waiting to read"; "" where it was next to nothing.
std::string waiting_text(double seconds);
// A distance at a glance: six significant digits.
std::string short_distance(double distance);
// "1 query", "2 queries".
std::string counted(std::int64_t number, const char* one, const char* many);

// The columns of the terminal after standard output or error; 100 where there is none.
int terminal_width(int file_descriptor);

double distance_at(const Neighbors& neighbors, std::int64_t row, std::int64_t column);

// For a result that is written nowhere.
inline constexpr std::int64_t printed_rows = 10;
// The first rows and columns of a result, as many as fit.
// `queries`: how many rows there are in all; `neighbors` may hold the first of them.
std::string first_rows(const Neighbors& neighbors, std::int64_t queries, const char* row_name, int width);

// The path that ran, how long, how fast, and how the queries were answered: two lines.
std::string summary(const Report& report);
// How the queries were answered: one line, without its end.
std::string answered(const Report& report);
// Why queries were retried or scanned, and what would help: two lines for each reason.
std::string fallbacks_text(const Report& report);

}  // namespace kith::cli
