// What each operation of a formula computes, over the vocabulary of metric/ops.h: one text for
// folding constants and for every instruction set. Comparisons and logic give 1 and 0; what is not
// zero, NaN too, is true, as in C.
#pragma once

#include "formula/tree.h"
#include "metric/ops.h"

namespace kith::formula {

// The vocabulary for one scalar.
struct ScalarFormulaOps : ScalarOps<double> {
    KITH_HD static V exponential(V x) { return portable::any_exp(x); }
    KITH_HD static V logarithm(V x) { return portable::any_log(x); }
    KITH_HD static V power(V t, V p) { return portable::any_pow(t, p); }
};

template <Op op, class O>
KITH_HD typename O::V apply(typename O::V a, typename O::V b, typename O::V c) {
    const typename O::V zero = O::set(0), one = O::set(1);
    if constexpr (op == Op::negative) return -a;
    else if constexpr (op == Op::absolute) return O::abs(a);
    else if constexpr (op == Op::root) return O::sqrt(a);
    else if constexpr (op == Op::exponential) return O::exponential(a);
    else if constexpr (op == Op::logarithm) return O::logarithm(a);
    else if constexpr (op == Op::logical_not) return O::select(a == zero, one, zero);
    else if constexpr (op == Op::add) return O::add(a, b);
    else if constexpr (op == Op::subtract) return O::sub(a, b);
    else if constexpr (op == Op::multiply) return O::mul(a, b);
    else if constexpr (op == Op::divide) return O::div(a, b);
    else if constexpr (op == Op::less) return O::select(a < b, one, zero);
    else if constexpr (op == Op::less_equal) return O::select(a <= b, one, zero);
    else if constexpr (op == Op::equal) return O::select(a == b, one, zero);
    else if constexpr (op == Op::unequal) return O::select(a != b, one, zero);
    else if constexpr (op == Op::logical_and)
        return O::select(a != zero, O::select(b != zero, one, zero), zero);
    else if constexpr (op == Op::logical_or)
        return O::select(a != zero, one, O::select(b != zero, one, zero));
    else if constexpr (op == Op::minimum) return O::select(a != a, b, O::select(b < a, b, a));
    else if constexpr (op == Op::maximum) return O::select(a != a, b, O::select(a < b, b, a));
    else if constexpr (op == Op::power) return O::power(a, b);
    else return O::select(a != zero, b, c);
}

}  // namespace kith::formula
