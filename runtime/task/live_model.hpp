#pragma once
// The model as it is in memory between two steps, whatever the mesh, for a task (RankContext::model). Every call waits
// for other ranks, so all of them make it at the same point: in begin(), or in a callback of StepPost, say. Use it on
// the thread of begin() alone, and not after the job's end.

#include <ATen/core/Tensor.h>

#include <string>
#include <vector>

namespace d9d {

class LiveModel {
 public:
  virtual ~LiveModel() = default;

  // Of this rank's pipeline stages: the parameters, in the order of the model.
  virtual std::vector<std::string> parameters() const = 0;
  // Returns a parameter's whole value, on each of the ranks that hold parts of it, in its dtype on its device. Input
  // error for a name that is not among parameters().
  virtual at::Tensor full_tensor(const std::string& parameter) const = 0;
  // Writes the model as `export_to` does: a folder in the layout of Hugging Face, by the provider's mapper, with the
  // tokenizer. All ranks of the job call it. The hosts have to share the folder's disk, on which the weights lie twice
  // meanwhile (FOLDER.weights). The error of any rank is that of all.
  virtual void save(const std::string& folder) const = 0;
};

}  // namespace d9d
