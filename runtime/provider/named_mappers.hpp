#pragma once
// Mappers of folders that have names of their own: a plugin's. No torch in this header.

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace d9d {

class StateMapper;

class NamedMappers {
 public:
  virtual ~NamedMappers() = default;
  // Returns null if there is no mapper of that name. `stored`: the names of the folder's tensors.
  virtual std::shared_ptr<const StateMapper> make_mapper(const std::string& name,
                                                         const std::set<std::string>& stored) const = 0;
  virtual std::vector<std::string> mapper_names() const = 0;
};

}  // namespace d9d
