#define D9D_ISA baseline
#include "kernels/cpu/loops/build.inl"
