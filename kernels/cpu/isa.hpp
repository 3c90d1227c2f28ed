#pragma once

namespace d9d::kernels {

// x86-64, x86-64-v3, x86-64-v4, x86-64-v4 with products of bfloat16, and the same with tile registers.
enum class Isa { baseline, avx2, avx512, avx512_bf16, amx };

// Returns the best instruction set of this machine. The variable D9D_ISA ("baseline", "avx2",
// "avx512", "avx512_bf16") selects a lesser one, so that tests and benchmarks can behave as on other
// machines. It is read once.
// Throws std::invalid_argument for another word, or for more than the machine has.
Isa isa_of_this_machine();
const char* name_of(Isa isa);

}  // namespace d9d::kernels
