#define D9D_ISA baseline
#include "kernels/cpu/build.inl"
