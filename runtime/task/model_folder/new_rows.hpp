#pragma once
// New tokens for a model of a folder: the job names a larger vocabulary than the folder has.

#include <memory>
#include <string>

#include "runtime/family/family_model.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model_files.hpp"

namespace d9d {

// model.folder_to_parameters() for these files. Where they have fewer rows of words than the model, embedding and head
// get the missing ones: the mean of the others. A vocabulary in parts, or a smaller one than the folder's, stays refused.
MapperPtr folder_to_parameters(const FamilyModel& model, const ModelFiles& files);
// How many there are; 0: none.
std::int64_t new_rows(const FamilyModel& model, const ModelFiles& files);

}  // namespace d9d
