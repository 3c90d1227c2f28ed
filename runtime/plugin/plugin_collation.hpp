#pragma once
// A plugin's collation, watched: what it makes is a batch, and its exceptions name it.

#include <memory>
#include <string>

#include "runtime/data/collation.hpp"

namespace d9d {

class PluginCollation final : public Collation {
 public:
  // Input error for no collation.
  PluginCollation(std::string name, std::shared_ptr<const Collation> inner);
  // Input error for a batch without tensors, or with one that has no values or is not on the CPU.
  TensorMap collate(std::span<const Sample> samples) const override;

 private:
  const std::string name_;
  const std::shared_ptr<const Collation> inner_;
};

}  // namespace d9d
