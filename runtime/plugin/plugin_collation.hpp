#pragma once
// A plugin's collation, watched: what it makes is a batch, and its exceptions name it.

#include <atomic>
#include <memory>
#include <string>

#include "runtime/data/collation.hpp"

namespace d9d {

class PluginCollation final : public Collation {
 public:
  // Input error for no collation.
  PluginCollation(std::string name, std::shared_ptr<const Collation> inner);
  // Input error for a batch without tensors, or with one that has no values or is not on the CPU. Warns once where
  // input_ids has fewer rows than there are samples, unless document_starts part several samples of a row.
  TensorMap collate(std::span<const Sample> samples) const override;

 private:
  void warn_of_lost_rows(const TensorMap& batch, std::size_t samples) const;

  const std::string name_;
  const std::shared_ptr<const Collation> inner_;
  mutable std::atomic<bool> warned_ = false;
};

}  // namespace d9d
