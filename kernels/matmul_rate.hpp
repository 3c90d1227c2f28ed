#pragma once
// Measures the peak rate of this host: that of a large matrix product on a given number of threads. Model
// FLOP utilisation (MFU) is relative to it when the peak of the device is not given.

#include <c10/core/ScalarType.h>

namespace d9d::kernels {

// Returns FLOP/s (a multiply and an add are two): the best of several products [768, 768] x [768,
// 768]. `type` must be float32 or bfloat16. Takes less than a second. Does not change the
// caller's number of threads.
double matmul_rate(c10::ScalarType type, int threads);

}  // namespace d9d::kernels
