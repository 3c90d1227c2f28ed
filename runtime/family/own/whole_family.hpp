#pragma once
// Whether a plugin's family says all that the rest of d9d takes from it: a forgotten tensor would be drawn instead of
// loaded, and a forgotten cost would make every estimate wrong.

#include <string_view>

#include "runtime/family/family_model.hpp"

namespace d9d {

// By the whole model without storage. Input error that names the family, what is wrong and what to do: a parameter that
// a mapper does not have, mappers that do not undo each other, a config.json that is not read as it was written, a
// layer whose costs count other parameters than it has.
void require_whole_family(const FamilyModel& model, std::string_view family);

}  // namespace d9d
