// The C interface of the estimators.
#include "api/c_convert.h"
#include "kith/estimators.h"

using namespace kith::c;

namespace {

kith::Bootstrap bootstrap_of(const kith_options* given) {
    const kith_options o = complete(given);
    return {o.bootstrap_repeats, o.bootstrap_parts, o.bootstrap_stretch, o.bootstrap_seed};
}

// `work(options, bootstrap)` into *estimate.
template <class Work>
int estimated(const kith_options* options, kith_estimate* estimate, const Work& work) {
    return guarded([&] {
        require(estimate, "estimate");
        const Converted c(options);
        const kith::Estimate e = work(c.options, bootstrap_of(options));
        *estimate = {e.value, e.error, e.samples, e.left_out};
    });
}

// One of the `count` values of an enum of c.h, which are those of Form.
template <class Form>
Form form_of(int32_t form, int32_t count, const char* names) {
    if (form < 0 || form >= count) kith::refuse("form: {}; expected one of enum {}", form, names);
    return static_cast<Form>(form);
}

}  // namespace

extern "C" {

int kith_entropy(const kith_matrix* x, int64_t k, const kith_options* options,
                 kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o, const kith::Bootstrap& b) {
        return kith::entropy(matrix(x, "x"), k, o, b);
    });
}

int kith_kl_divergence(const kith_matrix* x, const kith_matrix* y, int64_t k, int32_t form,
                       const kith_options* options, kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o, const kith::Bootstrap& b) {
        return kith::kl_divergence(matrix(x, "x"), matrix(y, "y"), k,
                                   form_of<kith::DivergenceForm>(form, 3, "kith_divergence_form"),
                                   o, b);
    });
}

int kith_mutual_information(const kith_matrix* x, const kith_matrix* y, int64_t k, int32_t form,
                            const kith_options* options, kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o, const kith::Bootstrap& b) {
        return kith::mutual_information(matrix(x, "x"), matrix(y, "y"), k,
                                        form_of<kith::KraskovForm>(form, 2, "kith_kraskov_form"), o,
                                        b);
    });
}

int kith_conditional_mutual_information(const kith_matrix* x, const kith_matrix* y,
                                        const kith_matrix* z, int64_t k,
                                        const kith_options* options, kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o, const kith::Bootstrap& b) {
        return kith::conditional_mutual_information(matrix(x, "x"), matrix(y, "y"), matrix(z, "z"),
                                                    k, o, b);
    });
}

int kith_transfer_entropy(const kith_matrix* source, const kith_matrix* target, int64_t k,
                          int64_t source_lags, int64_t target_lags, const kith_options* options,
                          kith_estimate* estimate) {
    return estimated(options, estimate, [&](const kith::Options& o, const kith::Bootstrap& b) {
        return kith::transfer_entropy(matrix(source, "source"), matrix(target, "target"), k,
                                      source_lags, target_lags, o, b);
    });
}

}  // extern "C"
