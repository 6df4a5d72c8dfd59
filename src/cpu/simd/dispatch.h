// Which instruction set's table of kernels serves: one definition for every kernel that
// target.cpp.in instantiates.
#pragma once

#include "cpu/simd/isa.h"

// The function `table`, which returns a Table, as each instruction set's translation unit defines
// it.
#if defined(__x86_64__)
#define KITH_TABLES(Table, table) \
    namespace baseline {          \
    Table table();                \
    }                             \
    namespace avx2 {              \
    Table table();                \
    }                             \
    namespace avx512 {            \
    Table table();                \
    }
#define KITH_TABLE_OF(isa, table) \
    (has_avx512(isa) ? avx512::table() : (isa) == Isa::avx2 ? avx2::table() : baseline::table())
#else
#define KITH_TABLES(Table, table) \
    namespace baseline {          \
    Table table();                \
    }
#define KITH_TABLE_OF(isa, table) (static_cast<void>(isa), baseline::table())
#endif
