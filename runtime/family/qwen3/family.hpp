#pragma once
// Qwen3 and Qwen3-MoE as families: one folder, two values of model_type.

namespace d9d {

class Family;

const Family* qwen3_moe_family();
const Family* qwen3_family();

}  // namespace d9d
