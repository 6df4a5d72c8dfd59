// Begins a translation unit that is compiled for one instruction set: KITH_LEVEL 0 (what the
// compiler assumes), 1 (AVX2) or 2 (AVX-512; with KITH_BF16 its products of bf16, with KITH_VNNI
// those of bytes, with KITH_AMX products of both in matrix registers), and names its namespace
// KITH_TARGET.
//
// Everything that follows gets the instruction set by a pragma, which is why the standard headers
// come before it (their inline functions are shared with other units and must run anywhere) and the
// metrics after it (they are templates, inlined into each unit). Such a unit defines nothing
// outside its namespace but its table. One of level 1 or 2 ends with KITH_TARGET_END.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kith/types.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define KITH_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define KITH_TARGET_BEGIN(list) \
    KITH_PRAGMA(clang attribute push(__attribute__((target(list))), apply_to = function))
#define KITH_TARGET_END KITH_PRAGMA(clang attribute pop)
#else
#define KITH_TARGET_BEGIN(list) KITH_PRAGMA(GCC target(list))
#define KITH_TARGET_END
#endif

#if KITH_LEVEL == 2 && defined(KITH_BF16)
#define KITH_TARGET avx512_bf16
KITH_TARGET_BEGIN("avx,avx2,bmi,bmi2,fma,f16c,avx512f,avx512vl,avx512dq,avx512bw,avx512bf16")
#elif KITH_LEVEL == 2 && defined(KITH_AMX)
#define KITH_TARGET amx
KITH_TARGET_BEGIN(
    "avx,avx2,bmi,bmi2,fma,f16c,avx512f,avx512vl,avx512dq,avx512bw,amx-tile,amx-int8,amx-bf16")
#elif KITH_LEVEL == 2 && defined(KITH_VNNI)
#define KITH_TARGET avx512_vnni
KITH_TARGET_BEGIN("avx,avx2,bmi,bmi2,fma,f16c,avx512f,avx512vl,avx512dq,avx512bw,avx512vnni")
#elif KITH_LEVEL == 2
#define KITH_TARGET avx512
KITH_TARGET_BEGIN("avx,avx2,bmi,bmi2,fma,f16c,avx512f,avx512vl,avx512dq,avx512bw")
#elif KITH_LEVEL == 1
#define KITH_TARGET avx2
KITH_TARGET_BEGIN("avx,avx2,bmi,bmi2,fma,f16c")
#else
#define KITH_TARGET baseline
#endif
