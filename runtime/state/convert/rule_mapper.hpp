#pragma once
// Makes a mapper graph of conversion rules and the tensors of a folder.

#include <map>
#include <string>

#include "runtime/state/convert/conversion_rules.hpp"
#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

struct RuleMapper {
  MapperPtr mapper;                     // its outputs are the tensors of the new folder
  std::map<std::string, Dtype> dtypes;  // of outputs that a rule casts
};

// Makes the mapper. `stored` are the folder's tensors, of which only shapes and dtypes are used.
// Input error that begins with the rule's number and verb: its patterns contradict one another, it
// matches no tensor, it makes a name that exists already, or the tensors do not fit it.
RuleMapper mapper_by_rules(const ConversionRules& rules, const TensorMap& stored);

}  // namespace d9d
