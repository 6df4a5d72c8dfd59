// The metrics' kernels for avx2.
#if defined(__x86_64__)
#define KITH_LEVEL 1
#include "cpu/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/metric_kernels-inl.h"
#include "cpu/rows-inl.h"
KITH_TARGET_END
#endif
