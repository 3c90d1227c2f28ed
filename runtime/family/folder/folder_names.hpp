#pragma once
// How a folder spells the names of a causal language model's tensors. Beside transformers' own spelling there are those
// of wrappers (torch.compile, DDP, FSDP, peft), of a model without its head, and of the text part of a multimodal one.

#include <map>
#include <string>

#include "runtime/state/mapper/mapper.hpp"

namespace d9d {

// The two tables of tokens, [vocabulary, hidden], as transformers' causal language models spell them.
inline constexpr const char *embedding_table = "model.embed_tokens.weight", *head_table = "lm_head.weight";

class FolderNames {
 public:
  // `tied`: head and embedding are one tensor, which a folder may hold under either name.
  FolderNames(const Names& stored, bool tied);

  // As transformers' causal language models spell them: model.layers.0..., lm_head.weight.
  const Names& names() const { return names_; }
  // Of other parts of a multimodal model, as the folder spells them.
  const Names& of_other_parts() const { return others_; }
  // How the folder spells this one of names(), or would spell it.
  std::string in_folder(const std::string& name) const;

 private:
  void add(const std::string& stored, std::string name);
  void call_instead(const std::string& name, std::string other);

  Names names_;
  Names others_;
  std::map<std::string, std::string> stored_;  // by name, where the folder spells it otherwise
  std::string before_body_ = "model.";         // what the folder has in its place
};

// Renames the inputs of `mapper` to what the folder calls them.
MapperPtr respelled(const MapperPtr& mapper, const FolderNames& folder);

}  // namespace d9d
