#pragma once

namespace d9d::kernels {

// x86-64, x86-64-v3, x86-64-v4, that with products of bfloat16, and that with tiles of them.
enum class Isa { baseline, avx2, avx512, avx512_bf16, amx };

// The best one this machine runs; the variable D9D_ISA ("baseline", "avx2", "avx512", "avx512_bf16") asks for
// a lesser one, so that tests and benchmarks see what other machines see. Read once.
// Throws std::invalid_argument for another word, and for more than the machine has.
Isa isa_of_this_machine();
const char* name_of(Isa isa);

}  // namespace d9d::kernels
