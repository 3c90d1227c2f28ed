#include "kernels/cpu/table.hpp"

namespace d9d::kernels {

#define D9D_TABLES_OF(isa)                        \
  namespace isa {                                 \
  extern const KernelTable<float>& float_table;   \
  extern const KernelTable<double>& double_table; \
  extern const KernelTable<Bf16>& bf16_table;     \
  extern const FlatTable& flat;                   \
  }
D9D_TABLES_OF(baseline)
D9D_TABLES_OF(avx2)
D9D_TABLES_OF(avx512)
#undef D9D_TABLES_OF

#define D9D_CHOOSE(table)     \
  switch (isa) {              \
    case Isa::avx512:         \
      return avx512::table;   \
    case Isa::avx2:           \
      return avx2::table;     \
    default:                  \
      return baseline::table; \
  }

template <>
const KernelTable<float>& kernel_table<float>(Isa isa) {
  D9D_CHOOSE(float_table)
}
template <>
const KernelTable<double>& kernel_table<double>(Isa isa) {
  D9D_CHOOSE(double_table)
}
template <>
const KernelTable<Bf16>& kernel_table<Bf16>(Isa isa) {
  D9D_CHOOSE(bf16_table)
}
const FlatTable& flat_table(Isa isa) {
  D9D_CHOOSE(flat)
}

}  // namespace d9d::kernels
