// A formula as straight-line code: each value is computed once, from values before it.
#pragma once

#include <memory>

#include "formula/tree.h"

namespace kith::formula {

// The dependence of a value, which decides how often it is computed: once, per coordinate of a
// query, per coordinate of a pair, or in the order of the coordinates.
enum class Level : std::uint8_t { constant, query, point, running };

struct Value {
    Op op = Op::constant;
    Level level = Level::constant;
    double constant = 0;
    std::array<std::int32_t, 3> args{};
    // Storage slot among the values of its level; values with disjoint lifetimes may share one.
    // Constants and variables have none.
    std::int32_t slot = -1;
};

struct Program {
    std::vector<Value> values;            // by level, and within a level arguments first
    std::int32_t result = 0;              // the next running value
    std::array<std::int32_t, 4> slots{};  // number of slots of each level
};

// Gives the same bits as evaluating the tree node by node. Constants are folded, equal
// subexpressions are one value, and integer powers up to 16 are products. Nothing is reassociated.
Program compile(const Tree& tree);

// One pair's value after d coordinates: the reference, for samples and tests.
double evaluate(const Program& program, double start, const double* q, const double* x,
                std::int64_t d);

// Parses and compiles. Throws what parse() throws.
std::shared_ptr<const Program> compile(const std::string& text);

}  // namespace kith::formula
