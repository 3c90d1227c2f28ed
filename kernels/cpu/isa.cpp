#include "kernels/cpu/isa.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace d9d::kernels {
namespace {

// Asks Linux for the tile registers, which a process may use only then
// (Documentation/arch/x86/xstate.rst).
bool may_use_tiles() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

Isa detect() {
  __builtin_cpu_init();
  const bool v3 =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const bool bf16 = v4 && __builtin_cpu_supports("avx512bf16");
  if (bf16 && __builtin_cpu_supports("amx-tile") && __builtin_cpu_supports("amx-bf16") && may_use_tiles()) {
    return Isa::amx;
  }
  return bf16 ? Isa::avx512_bf16 : v4 ? Isa::avx512 : v3 ? Isa::avx2 : Isa::baseline;
}

Isa choose() {
  const Isa best = detect();
  const char* const asked = std::getenv("D9D_ISA");
  if (asked == nullptr || *asked == '\0') {
    // On a Xeon without tiles (hidden by some virtual machines) VDPBF16PS reaches 115 GFLOP/s a core, and
    // products of numbers widened to fp32 reach 190. On an EPYC it has twice the rate of fp32.
    return best == Isa::avx512_bf16 && __builtin_cpu_is("intel") ? Isa::avx512 : best;
  }
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::avx512_bf16, Isa::amx}) {
    if (isa <= best && name_of(isa) == std::string(asked)) return isa;
  }
  throw std::invalid_argument(std::string("D9D_ISA is \"") + asked +
                              "\"; this machine can be asked for baseline up to " + name_of(best));
}

}  // namespace

Isa isa_of_this_machine() {
  static const Isa isa = choose();
  return isa;
}

const char* name_of(Isa isa) {
  constexpr const char* names[] = {"baseline", "avx2", "avx512", "avx512_bf16", "amx"};
  return names[static_cast<int>(isa)];
}

}  // namespace d9d::kernels
