#pragma once
// New tokens for a model of a folder: the job names a larger vocabulary than the folder has.

#include <cstdint>
#include <string>

#include "runtime/family/family_model.hpp"
#include "runtime/model_folder/new_row_values.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/tensor/stage_module.hpp"

namespace d9d {

// A tensor [rows, ...] of fewer rows than `parameter` gets more at its end, those that it would begin with
// if all of it were drawn by this seed; fp32, so that they are rounded once. Input error for one that has more.
MapperPtr drawn_rows(const StageParameter& parameter, std::uint64_t seed);

// What the job wants in them. Drawn rows are a function of seed, table and place: the same on each mesh.
struct NewRows {
  NewRowValues values = NewRowValues::mean;
  std::uint64_t seed = 0;
};

// model.folder_to_parameters() for these files. Where they have fewer rows of words than the model, embedding and head
// get the missing ones: the mean of the others, or as the family draws them. A vocabulary in parts, or a smaller one
// than the folder's, stays refused.
MapperPtr folder_to_parameters(const FamilyModel& model, const ModelFiles& files, const NewRows& rows = {});
// How many there are; 0: none.
std::int64_t new_rows(const FamilyModel& model, const ModelFiles& files);
// What a log says of them; `directory` is the folder. Empty where there are none.
std::string new_rows_text(const FamilyModel& model, const ModelFiles& files, const NewRows& rows);

}  // namespace d9d
