#pragma once
// A provider that only says what the tensors of a folder are called: a model that loads and exports folders in the
// layout of Hugging Face by mappers (runtime/state/mapper). No torch in this header.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "runtime/provider/model_provider.hpp"

namespace d9d {

class StateMapper;

class MappedProvider : public ModelProvider {
 public:
  // What becomes of the tensors of a folder that the model starts from: a mapper from their names to those of
  // parameters and persistent buffers, for the whole model. Default: each tensor has the parameter's name.
  virtual std::shared_ptr<const StateMapper> load_mapper(const std::set<std::string>& stored) const;
  // The way back: a mapper from the names of all parameters and buffers to those of an exported folder. It gets whole
  // tensors, and may compute values. Default: the same names.
  virtual std::shared_ptr<const StateMapper> export_mapper(const std::set<std::string>& names) const;

  // Reads what this rank's blocks need. Warns of values that are no numbers.
  void load_weights(const std::string& directory, StagePosition position,
                    const std::vector<StageParameter>& parameters) const override;
  // Those that load_mapper() makes; others keep their values.
  void load_buffers(const std::string& directory, StagePosition position,
                    const std::vector<StageBuffer>& buffers) const override;
  // From headers, and from the whole model, which build_stage() makes on the device "meta" (tensors without memory):
  // every parameter is made, in its shape, and every tensor of the folder becomes one or a buffer.
  std::vector<std::string> check_source(const std::string& directory) const override;
  // Weights alone, in the types of the parameters.
  void export_model(const std::string& checkpoint, const std::string& target) const override;
};

}  // namespace d9d
