#pragma once
// What this host reaches at most: the rate of a large matrix product, as models multiply, on a given number of threads.
// It is the roof of the model's FLOP utilisation (MFU) when no peak of the device is given.

#include <c10/core/ScalarType.h>

namespace d9d::kernels {

// FLOP/s (a multiply and an add are two): the best of several products [768, 768] x [768, 768] of `type`, float32
// or bfloat16; others are refused. Takes less than a second. The caller's number of threads stays what it is.
double matmul_rate(c10::ScalarType type, int threads);

}  // namespace d9d::kernels
