#pragma once
// The tile registers of AMX (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18). Only
// for files compiled for AMX.

#include <immintrin.h>

#include <atomic>
#include <cstdint>

namespace d9d::kernels {
namespace {

// GCC's intrinsics do not say what memory they read: what was stored before has to be there.
inline void finish_stores() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

// Eight of 16 rows of 64 bytes. A thread's registers are set up for a whole product, and given back after it: other
// code of the thread may set them up in its own way, and a thread without tiles is cheaper to switch.
class TileRegisters {
 public:
  TileRegisters() {
    Setting setting;
    for (int i = 0; i < 8; ++i) {
      setting.bytes_per_row[i] = 64;
      setting.rows[i] = 16;
    }
    finish_stores();
    _tile_loadconfig(&setting);
  }
  ~TileRegisters() { _tile_release(); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;

 private:
  struct alignas(64) Setting {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t bytes_per_row[16] = {};
    uint8_t rows[16] = {};
  };
};

}  // namespace
}  // namespace d9d::kernels
