// Limits of f32. This text precedes formulas that are compiled at run time.
#pragma once

namespace kith::gpu {

// The largest finite number: anything above is infinite.
inline constexpr float largest_f32 = 0x1.fffffep+127f;

}  // namespace kith::gpu
