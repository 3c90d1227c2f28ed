#define D9D_ISA avx2
#include "kernels/cpu/loops/build.inl"
