// A metric given as text, evaluated by muParser over a tile of points, one coordinate at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace kith::cpu {

// Throws invalid_argument with the position and the reason unless `text` is a formula of a, q and x.
void check_formula(const std::string& text);

// One thread's evaluator.
class Formula {
public:
    Formula(const std::string& text, double start);
    ~Formula();
    // The last running value for each of `count` points, `stride` values apart, of d coordinates.
    void distances(const double* q, const double* points, std::int64_t stride, std::int64_t count, std::int64_t d,
                   double* out);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace kith::cpu
