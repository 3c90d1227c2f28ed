#pragma once
// Qwen2-MoE as a family.

namespace d9d {

class Family;

const Family* qwen2_moe_family();

}  // namespace d9d
