#pragma once

namespace d9d::kernels {

enum class Isa { baseline, avx2, avx512 };  // x86-64, x86-64-v3, x86-64-v4

// The best one this machine runs; the variable D9D_ISA ("baseline", "avx2") asks for
// a lesser one, so that tests and benchmarks see what other machines see. Read once.
// Throws std::invalid_argument for another word, and for more than the machine has.
Isa isa_of_this_machine();
const char* name_of(Isa isa);

}  // namespace d9d::kernels
