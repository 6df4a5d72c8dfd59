// A formula as straight-line code: each value is computed once, from values before it.
#pragma once

#include <memory>

#include "formula/tree.h"

namespace kith::formula {

// What a value depends on, and so how often it must be computed: never again, once per coordinate
// of a query, once per coordinate of a pair, or in the order of the coordinates.
enum class Level : std::uint8_t { constant, query, point, running };

struct Value {
    Op op = Op::constant;
    Level level = Level::constant;
    double constant = 0;
    std::array<std::int32_t, 3> args{};
    // Where it is kept, among the values of its level: values that are not alive together may share
    // a slot. Constants and variables have none.
    std::int32_t slot = -1;
};

struct Program {
    std::vector<Value> values;            // by level, and within a level arguments first
    std::int32_t result = 0;              // the next running value
    std::array<std::int32_t, 4> slots{};  // how many each level needs
};

// The same bits as the tree evaluated node by node. Constants are folded, equal subexpressions are
// one value, whole powers up to 16 are products; nothing is reassociated.
Program compile(const Tree& tree);

// One pair's value after d coordinates: the definition, for samples and tests.
double evaluate(const Program& program, double start, const double* q, const double* x,
                std::int64_t d);

// Parses and compiles. Throws as parse().
std::shared_ptr<const Program> compile(const std::string& text);

}  // namespace kith::formula
