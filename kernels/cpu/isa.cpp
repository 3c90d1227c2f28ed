#include "kernels/cpu/isa.hpp"

namespace d9d::kernels {
namespace {

Isa detect() {
  __builtin_cpu_init();
  const bool v3 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? Isa::avx512 : v3 ? Isa::avx2 : Isa::baseline;
}

}  // namespace

Isa isa_of_this_machine() {
  static const Isa isa = detect();
  return isa;
}

}  // namespace d9d::kernels
