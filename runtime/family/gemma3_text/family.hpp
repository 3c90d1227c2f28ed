#pragma once
// Gemma 3 (text) as a family.

namespace d9d {

class Family;

const Family* gemma3_text_family();

}  // namespace d9d
