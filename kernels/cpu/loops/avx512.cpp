#define D9D_ISA avx512
#include "kernels/cpu/loops/build.inl"
