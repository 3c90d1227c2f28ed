#pragma once
// The distance of an axis's ticks.

namespace d9d {

// Returns 1, 2 or 5 times a power of ten, so that at most `most` steps of it fit into `span`, which
// must be larger than 0.
double tick_step(double span, int most);

}  // namespace d9d
