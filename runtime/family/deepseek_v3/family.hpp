#pragma once
// DeepSeek-V3 as a family.

namespace d9d {

class Family;

const Family* deepseek_v3_family();

}  // namespace d9d
