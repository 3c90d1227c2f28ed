#pragma once
// Where the ticks of an axis stand.

namespace d9d {

// 1, 2 or 5 times a power of ten, so that at most `most` steps of it fit into `span`, which is larger than 0.
double tick_step(double span, int most);

}  // namespace d9d
