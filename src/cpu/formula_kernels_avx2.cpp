// The operations of a formula for avx2.
#if defined(__x86_64__)
#define KITH_LEVEL 1
#include "cpu/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/formula_kernels-inl.h"
KITH_TARGET_END
#endif
