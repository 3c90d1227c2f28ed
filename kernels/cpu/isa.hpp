#pragma once

namespace d9d::kernels {

enum class Isa { baseline, avx2, avx512 };  // x86-64, x86-64-v3, x86-64-v4

// The best one this machine runs.
Isa isa_of_this_machine();

}  // namespace d9d::kernels
