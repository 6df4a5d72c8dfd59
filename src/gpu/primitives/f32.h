// A number of f32. Formulas that are compiled at run time have this text ahead of them.
#pragma once

namespace kith::gpu {

// The largest one: what is above is infinite.
inline constexpr float largest_f32 = 0x1.fffffep+127f;

}  // namespace kith::gpu
