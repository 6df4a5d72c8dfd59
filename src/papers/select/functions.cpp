// The component's selectors by their place in gpu::selectors (papers/gpu.h).
#include "papers/gpu.h"

namespace kith::papers {

namespace {

constexpr gpu::SelectFunction functions[] = {
#define KITH_SELECTOR(function, ...) nullptr,
#define KITH_PAPERS_SELECTOR(function, ...) gpu::function,
#include "gpu/select/selectors.def"
#undef KITH_SELECTOR
#undef KITH_PAPERS_SELECTOR
};

}  // namespace

gpu::SelectFunction selector_function(std::size_t place) {
    return functions[place];
}

}  // namespace kith::papers
