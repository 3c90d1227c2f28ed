#pragma once
// Says which of the CPU's instructions the kernels use. No torch in this header.

#include <string>

namespace d9d {

// Returns "avx512", "avx2" or "baseline" (x86-64): the best one of this machine, or a lesser one that
// D9D_ISA asks for. Input error if D9D_ISA is another word or asks for more than the machine has.
std::string instruction_set();

}  // namespace d9d
