// A formula evaluated over a tile of points: one loop per operation, over many pairs.
#include "cpu/metric/formula.h"

#include <algorithm>
#include <utility>

namespace kith::cpu {

using formula::Level;
using formula::Op;
using formula::Value;

namespace {
constexpr std::size_t index(Level level) {
    return static_cast<std::size_t>(level);
}
}  // namespace

Formula::Formula(std::shared_ptr<const formula::Program> program, double start, Isa isa)
    : program_(std::move(program)), kernels_(formula_kernels(isa)), start_(start) {
    const auto& values = program_->values;
    base_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        const Value& value = values[i];
        if (value.op == Op::point) point_ = &base_[i];
        const int arity = formula::arity(value.op);
        if (arity == 0) continue;
        unsigned per_row = 0;
        if (value.level > Level::query) {
            for (int j = 0; j < arity; ++j)
                per_row |=
                    unsigned{values[static_cast<std::size_t>(value.args[j])].level <= Level::query}
                    << j;
        }
        Step step{kernels_.of[static_cast<std::size_t>(value.op)][per_row],
                  static_cast<std::int32_t>(i), value.args};
        for (int j = arity; j < 3; ++j) step.args[j] = step.args[0];
        steps_[index(value.level)].push_back(step);
    }
}

void Formula::reserve(std::int64_t columns) {
    if (columns <= capacity_) return;
    const auto& slots = program_->slots;
    const std::int64_t point_slot = std::max(block, columns);
    const auto constants = static_cast<std::int64_t>(
        std::count_if(program_->values.begin(), program_->values.end(),
                      [](const Value& v) { return v.level == Level::constant; }));
    memory_ = Buffer<double>((constants + 1 + slots[index(Level::query)]) * chunk +
                             slots[index(Level::point)] * point_slot +
                             (slots[index(Level::running)] + 1) * columns);
    capacity_ = columns;
    double* free = memory_.data();
    const auto take = [&](std::int64_t count) { return std::exchange(free, free + count); };
    query_chunk_ = take(chunk);
    running_ = take(columns);
    const std::array<std::int64_t, 4> sizes = {0, chunk, point_slot, columns};
    std::array<double*, 4> first_slot{};
    for (std::size_t level = 1; level < 4; ++level)
        first_slot[level] = take(slots[level] * sizes[level]);
    for (std::size_t i = 0; i < base_.size(); ++i) {
        const Value& value = program_->values[i];
        if (value.op == Op::constant)
            base_[i] = std::fill_n(take(chunk), chunk, value.constant) - chunk;
        else if (value.op == Op::query) base_[i] = query_chunk_;
        else if (value.op == Op::running) base_[i] = running_;
    }
    for (auto& steps : steps_) {
        for (Step& step : steps) {
            const Value& value = program_->values[static_cast<std::size_t>(step.value)];
            const std::size_t level = index(value.level);
            step.out = first_slot[level] + value.slot * sizes[level];
            // The next running value takes the place of the last: nothing is computed after it.
            if (step.value == program_->result && value.level == Level::running)
                step.out = running_;
            base_[static_cast<std::size_t>(step.value)] = step.out;
        }
    }
}

void Formula::run(const std::vector<Step>& steps, std::int64_t rows, std::int64_t columns) const {
    for (const Step& s : steps)
        s.kernel(s.out, at(s.args[0]), at(s.args[1]), at(s.args[2]), rows, columns);
}

void Formula::distances(const double* q, const double* points, std::int64_t count, std::int64_t d,
                        double* out) {
    const std::int64_t columns = Formula::columns(count);
    reserve(columns);
    const std::int64_t rows = std::clamp<std::int64_t>(block / columns, 1, chunk);
    const Level result = program_->values[static_cast<std::size_t>(program_->result)].level;
    std::fill_n(running_, columns, start_);
    // Without a running value only the last coordinate counts.
    for (std::int64_t first = result == Level::running ? 0 : d - 1; first < d; first += chunk) {
        const std::int64_t here = std::min(chunk, d - first);
        std::copy_n(q + first, here, query_chunk_);
        std::fill_n(query_chunk_ + here, Formula::columns(here) - here, 0.0);
        offset_ = {};
        run(steps_[index(Level::query)], 1, Formula::columns(here));
        for (std::int64_t begin = 0; begin < here; begin += rows) {
            const std::int64_t high = std::min(rows, here - begin);
            offset_[index(Level::query)] = begin;
            offset_[index(Level::point)] = 0;
            if (point_) *point_ = points + (first + begin) * columns;
            run(steps_[index(Level::point)], high, columns);
            if (result != Level::running) continue;
            for (std::int64_t row = 0; row < high; ++row) {
                offset_[index(Level::query)] = begin + row;
                offset_[index(Level::point)] = row * columns;
                run(steps_[index(Level::running)], 1, columns);
            }
        }
    }
    offset_ = {};
    const double* const last = at(program_->result);
    if (result <= Level::query) std::fill_n(out, count, *last);
    else std::copy_n(last, count, out);
}

}  // namespace kith::cpu
