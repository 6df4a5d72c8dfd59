// The operations of a formula for any processor.
#define KITH_LEVEL 0
#include "cpu/target-inl.h"
// After the target: every function from here on is compiled for it.
#include "cpu/formula_kernels-inl.h"
