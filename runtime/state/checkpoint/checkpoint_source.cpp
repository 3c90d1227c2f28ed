#include "runtime/state/checkpoint/checkpoint_source.hpp"

#include <cstring>

namespace d9d {

CheckpointSource::CheckpointSource(const CheckpointReader& checkpoint, std::string kind)
    : checkpoint_(checkpoint), kind_(std::move(kind)) {
  for (TensorSpec& spec : checkpoint.specs(kind_)) specs_[spec.name] = std::move(spec);
}

const TensorSpec& CheckpointSource::spec(const std::string& name) const {
  const auto found = specs_.find(name);
  if (found == specs_.end()) checkpoint_.shape_of(kind_, name);  // throws: it knows the folder
  return found->second;
}

void CheckpointSource::read_into(const std::string& name, const Slice& box, std::byte* into) const {
  const at::Tensor values = checkpoint_.read(kind_, name, box);
  if (values.numel() > 0) std::memcpy(into, values.data_ptr(), values.nbytes());  // else it has no place
}

WithBuffers::WithBuffers(const TensorSource& parameters, const CheckpointReader& checkpoint)
    : parameters_(parameters), buffers_(checkpoint, buffer_kind) {}

const TensorSource& WithBuffers::source_of(const std::string& name) const {
  if (buffers_.has(name)) return buffers_;
  return parameters_;
}

}  // namespace d9d
