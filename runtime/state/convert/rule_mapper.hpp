#pragma once
// Conversion rules as a mapper graph over the tensors of a folder.

#include <map>
#include <string>

#include "runtime/state/convert/conversion_rules.hpp"
#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

struct RuleMapper {
  MapperPtr mapper;                     // its outputs are what the new folder has
  std::map<std::string, Dtype> dtypes;  // of outputs that a rule casts
};

// `stored`: the folder's tensors; only their shapes and dtypes are looked at. An input error that begins with
// the rule's number and verb: its patterns contradict one another, it matches no tensor, makes a name that is
// there already, or the tensors do not fit it.
RuleMapper mapper_by_rules(const ConversionRules& rules, const TensorMap& stored);

}  // namespace d9d
