#pragma once
// Llama 3.x as a family.

namespace d9d {

class Family;

const Family* llama_family();

}  // namespace d9d
