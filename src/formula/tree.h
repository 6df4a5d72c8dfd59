// A formula's text as an expression tree: the one parse that every backend works from.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace kith::formula {

// What a node is; operations.h says what each operation computes. a > b is b < a, a >= b is b <= a,
// and +a is a.
enum class Op : std::uint8_t {
    constant,
    running,  // a
    query,    // q
    point,    // x
    negative,
    absolute,
    root,
    exponential,
    logarithm,
    logical_not,
    add,
    subtract,
    multiply,
    divide,
    less,
    less_equal,
    equal,
    unequal,
    logical_and,
    logical_or,
    minimum,
    maximum,
    power,
    select,  // condition ? value : value
};
inline constexpr int op_count = static_cast<int>(Op::select) + 1;

constexpr int arity(Op op) {
    if (op < Op::negative) return 0;
    if (op < Op::add) return 1;
    return op < Op::select ? 2 : 3;
}

struct Node {
    Op op = Op::constant;
    double value = 0;                    // constant
    std::array<std::int32_t, 3> args{};  // the first arity(op) count
};

// Arguments come before the node that takes them; the last node is the whole.
struct Tree {
    std::vector<Node> nodes;
};

// Longer or deeper formulas are refused: work and stack stay bounded, whatever the text.
inline constexpr std::size_t max_length = 10000;
inline constexpr int max_depth = 200;

// Operators with C's precedence and associativity; every number is the double nearest to what is
// written in decimal. Throws invalid_argument with the text, one position (from 1), what is wrong
// there and what was expected.
Tree parse(const std::string& text);

}  // namespace kith::formula
