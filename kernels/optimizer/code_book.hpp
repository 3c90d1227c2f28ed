#pragma once
// The values of a CodeBook (block_quantization.hpp) as tables, for the loops of every device. No torch; C++17, because
// CUDA's kernels include it. Internal to kernels/.

namespace d9d::kernels {

enum class CodeBook;

// The values of one sign by their magnitudes, ascending from 0 to 1: the middle between each and the next one, and
// infinity after the last. The nearest value of a magnitude is the first whose middle is not smaller.
struct CodeSide {
  int size = 0;
  float middle[256] = {};
};

struct CodeTables {
  CodeSide above, below;  // below only where there are both signs
  float value[256] = {};  // of each byte
};

const CodeTables& code_tables(CodeBook book);

// A block of a smaller largest magnitude is zero.
constexpr float smallest_block_scale = 1e-30F;

}  // namespace d9d::kernels
