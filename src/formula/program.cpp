// From the tree to straight-line code: folding, common subexpressions, levels, slots.
#include "formula/program.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "formula/operations.h"

namespace kith::formula {

namespace {

template <int i = 0>
double fold(Op op, double a, double b, double c) {
    if constexpr (i < op_count) {
        return static_cast<int>(op) == i ? apply<static_cast<Op>(i), ScalarFormulaOps>(a, b, c)
                                         : fold<i + 1>(op, a, b, c);
    }
    return 0;
}

// Values in the order of the tree, equal ones once.
class Builder {
public:
    explicit Builder(const Tree& tree) {
        std::vector<std::int32_t> value_of;
        value_of.reserve(tree.nodes.size());
        for (const Node& node : tree.nodes) {
            std::array<std::int32_t, 3> args{};
            for (int i = 0; i < arity(node.op); ++i)
                args[i] = value_of[static_cast<std::size_t>(node.args[i])];
            value_of.push_back(node.op == Op::constant ? constant(node.value)
                                                       : operation(node.op, args));
        }
        result_ = value_of.back();
    }

    // What the result needs, by level.
    Program program() const {
        std::vector<bool> needed(values_.size(), false);
        needed[static_cast<std::size_t>(result_)] = true;
        for (std::size_t i = values_.size(); i-- > 0;) {
            if (!needed[i]) continue;
            for (int j = 0; j < arity(values_[i].op); ++j)
                needed[static_cast<std::size_t>(values_[i].args[j])] = true;
        }
        Program program;
        std::vector<std::int32_t> place(values_.size());
        for (const Level level : {Level::constant, Level::query, Level::point, Level::running}) {
            for (std::size_t i = 0; i < values_.size(); ++i) {
                if (!needed[i] || values_[i].level != level) continue;
                place[i] = static_cast<std::int32_t>(program.values.size());
                program.values.push_back(values_[i]);
                Value& value = program.values.back();
                for (int j = 0; j < arity(value.op); ++j)
                    value.args[j] = place[static_cast<std::size_t>(value.args[j])];
            }
        }
        program.result = place[static_cast<std::size_t>(result_)];
        return program;
    }

private:
    const Value& at(std::int32_t i) const { return values_[static_cast<std::size_t>(i)]; }
    bool is_constant(std::int32_t i) const { return at(i).op == Op::constant; }

    std::int32_t intern(const Value& value) {
        const auto [entry, fresh] =
            known_.try_emplace({value.op, double_to_bits(value.constant), value.args},
                               static_cast<std::int32_t>(values_.size()));
        if (fresh) values_.push_back(value);
        return entry->second;
    }

    std::int32_t constant(double c) { return intern({.constant = c}); }

    std::int32_t operation(Op op, std::array<std::int32_t, 3> args) {
        if (op == Op::power && is_constant(args[1])) {
            const double p = at(args[1]).constant;
            if (p == std::floor(p) && std::fabs(p) <= 16)
                return whole_power(args[0], static_cast<int>(p));
        }
        if (op == Op::select && is_constant(args[0]))
            return at(args[0]).constant != 0 ? args[1] : args[2];
        const int count = arity(op);
        if (count > 0 &&
            std::all_of(args.begin(), args.begin() + count, [&](auto i) { return is_constant(i); }))
            return constant(
                fold(op, at(args[0]).constant, at(args[1]).constant, at(args[2]).constant));
        Value value{.op = op, .args = args};
        if (count == 0)
            value.level = op == Op::query   ? Level::query
                          : op == Op::point ? Level::point
                                            : Level::running;
        for (int i = 0; i < count; ++i) value.level = std::max(value.level, at(args[i]).level);
        return intern(value);
    }

    // As portable::any_pow: the product from left to right, its reciprocal for a negative power.
    std::int32_t whole_power(std::int32_t base, int p) {
        if (p == 0) return constant(1);
        std::int32_t product = base;
        for (int i = 1; i < std::abs(p); ++i) product = operation(Op::multiply, {product, base});
        return p > 0 ? product : operation(Op::divide, {constant(1), product});
    }

    std::vector<Value> values_;
    std::map<std::tuple<Op, std::uint64_t, std::array<std::int32_t, 3>>, std::int32_t> known_;
    std::int32_t result_ = 0;
};

// A value's slot is free again after its last use, unless a later level uses it: that comes back to
// it.
void assign_slots(Program& program) {
    const auto count = static_cast<std::int32_t>(program.values.size());
    std::vector<std::int32_t> last_use(program.values.size(), -1);
    const auto value = [&](std::int32_t i) -> Value& {
        return program.values[static_cast<std::size_t>(i)];
    };
    for (std::int32_t i = 0; i < count; ++i) {
        for (int j = 0; j < arity(value(i).op); ++j) {
            const std::int32_t arg = value(i).args[j];
            std::int32_t& last = last_use[static_cast<std::size_t>(arg)];
            last = value(arg).level == value(i).level ? std::max(last, i) : count;
        }
    }
    last_use[static_cast<std::size_t>(program.result)] = count;
    std::array<std::vector<std::int32_t>, 4> idle;
    for (std::int32_t i = 0; i < count; ++i) {
        Value& v = value(i);
        if (arity(v.op) == 0) continue;
        auto& free_slots = idle[static_cast<std::size_t>(v.level)];
        for (int j = 0; j < arity(v.op); ++j) {
            // An argument may stand twice.
            std::int32_t& last = last_use[static_cast<std::size_t>(v.args[j])];
            if (last != i || value(v.args[j]).slot < 0) continue;
            free_slots.push_back(value(v.args[j]).slot);
            last = -1;
        }
        if (free_slots.empty()) {
            v.slot = program.slots[static_cast<std::size_t>(v.level)]++;
        } else {
            v.slot = free_slots.back();
            free_slots.pop_back();
        }
    }
}

}  // namespace

Program compile(const Tree& tree) {
    Program program = Builder(tree).program();
    assign_slots(program);
    return program;
}

double evaluate(const Program& program, double start, const double* q, const double* x,
                std::int64_t d) {
    std::vector<double> values(program.values.size());
    double a = start;
    for (std::int64_t i = 0; i < d; ++i) {
        for (std::size_t v = 0; v < values.size(); ++v) {
            const Value& value = program.values[v];
            const auto argument = [&](std::size_t j) {
                return values[static_cast<std::size_t>(value.args[j])];
            };
            values[v] = value.op == Op::constant  ? value.constant
                        : value.op == Op::running ? a
                        : value.op == Op::query   ? q[i]
                        : value.op == Op::point
                            ? x[i]
                            : fold(value.op, argument(0), argument(1), argument(2));
        }
        a = values[static_cast<std::size_t>(program.result)];
    }
    return a;
}

std::shared_ptr<const Program> compile(const std::string& text) {
    return std::make_shared<const Program>(compile(parse(text)));
}

}  // namespace kith::formula
