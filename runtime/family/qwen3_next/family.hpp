#pragma once
// Qwen3-Next as a family.

namespace d9d {

class Family;

const Family* qwen3_next_family();

}  // namespace d9d
