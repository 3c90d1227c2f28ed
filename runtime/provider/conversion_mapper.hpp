#pragma once
// Which mapper `d9d-node convert --mapper` means: a form of the folder's family, a plugin's by its name, or a
// file of rules (state/convert/conversion_rules.hpp).

#include <map>
#include <optional>
#include <string>

#include "runtime/provider/named_mappers.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/tensor/dtype.hpp"

namespace d9d {

struct ConversionMapper {
  MapperPtr mapper;
  std::optional<Dtype> dtype;           // of all floating-point tensors
  std::map<std::string, Dtype> dtypes;  // of single tensors of the new folder
  Names left_out;                       // tensors of the folder that the new one does not have
};

// `choice`: empty for a folder with the same tensors; with a dot or a slash it is a file, otherwise a name.
// Input errors: no mapper has that name (says which there are), the folder has tensors that the mapper does
// not know, the rules' own.
ConversionMapper choose_conversion_mapper(const ModelFiles& files, const std::string& choice,
                                          const NamedMappers& named);

}  // namespace d9d
