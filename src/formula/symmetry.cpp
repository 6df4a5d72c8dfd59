// See symmetry.h. Two relations between a node i whose variables have changed places and a node j:
// equal in all bits, and equal but for the sign (of zeros too, whichever they have: an absolute
// value or a square does not see it).
#include "formula/symmetry.h"

#include <bit>
#include <cmath>

namespace kith::formula {

namespace {

// Comparisons that a formula is worth.
constexpr int most_steps = 20000;

class Prover {
public:
    explicit Prover(const Tree& tree) : nodes_(tree.nodes) {}

    bool prove() {
        const auto root = static_cast<std::int32_t>(nodes_.size()) - 1;
        return equal(root, root) && steps_ < most_steps;
    }

private:
    const Node& at(std::int32_t i) const { return nodes_[static_cast<std::size_t>(i)]; }
    bool spent() { return ++steps_ >= most_steps; }

    bool identical(std::int32_t i, std::int32_t j) {
        const Node &a = at(i), &b = at(j);
        if (spent() || a.op != b.op) return false;
        if (a.op == Op::constant)
            return std::bit_cast<std::uint64_t>(a.value) == std::bit_cast<std::uint64_t>(b.value);
        for (std::size_t c = 0; c < static_cast<std::size_t>(arity(a.op)); ++c)
            if (!identical(a.args[c], b.args[c])) return false;
        return true;
    }
    bool is_square(std::int32_t i) {
        return at(i).op == Op::multiply && identical(at(i).args[0], at(i).args[1]);
    }
    bool is_even(std::int32_t i) const {
        return at(i).op == Op::constant && std::isfinite(at(i).value) &&
               std::fmod(at(i).value, 2) == 0;
    }

    bool equal(std::int32_t i, std::int32_t j) {
        const Node &a = at(i), &b = at(j);
        if (spent()) return false;
        if (a.op == Op::query) return b.op == Op::point;
        if (a.op == Op::point) return b.op == Op::query;
        if (a.op != b.op) return false;
        if (a.op == Op::constant) return identical(i, j);
        const auto each = [&](int p, int q) {
            return equal(a.args[0], b.args[static_cast<std::size_t>(p)]) &&
                   equal(a.args[1], b.args[static_cast<std::size_t>(q)]);
        };
        switch (a.op) {
            case Op::absolute:
                return equal(a.args[0], b.args[0]) || opposite(a.args[0], b.args[0]);
            case Op::multiply:
                if (is_square(i) && is_square(j) && opposite(a.args[0], b.args[0])) return true;
                [[fallthrough]];
            case Op::add:
                return each(0, 1) || each(1, 0);
            case Op::power:
                return each(0, 1) || (is_even(a.args[1]) && identical(a.args[1], b.args[1]) &&
                                      opposite(a.args[0], b.args[0]));
            default:
                for (std::size_t c = 0; c < static_cast<std::size_t>(arity(a.op)); ++c)
                    if (!equal(a.args[c], b.args[c])) return false;
                return true;
        }
    }
    bool opposite(std::int32_t i, std::int32_t j) {
        const Node &a = at(i), &b = at(j);
        if (spent() || a.op != b.op) return false;
        switch (a.op) {
            case Op::subtract:
                return equal(a.args[0], b.args[1]) && equal(a.args[1], b.args[0]);
            case Op::negative:
                return opposite(a.args[0], b.args[0]);
            case Op::multiply:
            case Op::divide:
                return opposite(a.args[0], b.args[0]) && equal(a.args[1], b.args[1]);
            default:
                return false;
        }
    }

    const std::vector<Node>& nodes_;
    int steps_ = 0;
};

}  // namespace

bool symmetric(const Tree& tree) {
    return Prover(tree).prove();
}

}  // namespace kith::formula
