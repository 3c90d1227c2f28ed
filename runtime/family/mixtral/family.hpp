#pragma once
// Mixtral as a family.

namespace d9d {

class Family;

const Family* mixtral_family();

}  // namespace d9d
