#pragma once
// The values of a CodeBook (block_quantization.hpp) as tables, for the loops of every device. No torch; C++17, because
// CUDA's kernels include it. Internal to kernels/.

namespace d9d::kernels {

enum class CodeBook;

// The values of one sign, by ascending magnitude from 0 to 1. middle[i] is the middle between value i
// and the next one, infinity for the last. The nearest value of a magnitude is the first one whose
// middle is not smaller.
struct CodeSide {
  int size = 0;
  float middle[256] = {};
};

struct CodeTables {
  CodeSide above, below;  // `below` only for CodeBook::either_sign
  float value[256] = {};  // of each byte
};

const CodeTables& code_tables(CodeBook book);

// A block whose largest magnitude is smaller than this is zero.
constexpr float smallest_block_scale = 1e-30F;

}  // namespace d9d::kernels
