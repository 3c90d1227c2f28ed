#pragma once
// Qwen2 as a family.

namespace d9d {

class Family;

const Family* qwen2_family();

}  // namespace d9d
