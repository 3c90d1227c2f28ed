#pragma once
// Mistral as a family.

namespace d9d {

class Family;

const Family* mistral_family();

}  // namespace d9d
